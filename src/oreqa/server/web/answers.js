// A reply: its answers, or why there is none.

import { copyButton } from "./copying.js";
import { button, el, fill, link, respeltNotes } from "./dom.js";
import { markButtons } from "./marks.js";
import { certainty, characters, counted, cut, fileName, lastOf, placeOf, quoted, said } from "./text.js";

const SHOWN_ROWS = 5; // of a table, at once
const LONG = 100; // characters of what is no headline

export function replyNodes(reply, actions) {
	return [
		respeltNotes(reply),
		reply.answers.length ? grouped(reply.answers).map((answers) => group(answers, reply, actions)) : none(reply, actions),
		el("p", { class: "after" }, button("How this came about", actions.explain)),
	];
}

/** Answers of one passage together. */
function grouped(answers) {
	const key = (answer) => answer.computation ?? `${answer.collection} ${answer.document} ${answer.passage.start}`;
	return [...Map.groupBy(answers, key).values()];
}

const group = ([first, ...others], reply, actions) => el("div", { class: "group" },
	answerNode(first, reply, actions, [!first.computation && proof([first, ...others]), sourceLine(first, actions)]),
	others.length > 0 && el("p", { class: "also note" }, "Also in this passage"),
	others.map((answer) => answerNode(answer, reply, actions)));

/** An answer. Keys press what has them as its data-key, in the article with the focus. */
function answerNode(answer, reply, actions, evidence) {
	const id = `answer-${answer.id}`;
	const text = answer.form === "block" ? lastOf(answer.heading) || answer.title || fileName(answer.document) : said(answer);
	const says = (what, key) => key && el("p", { class: "warning" }, `${what} says otherwise: ${fileName(key)}`);
	return el("article", { class: "answer", tabindex: -1, "aria-labelledby": id },
		el("header",
			el("h2", { id, class: text.length > LONG && "long", dir: "auto" }, text),
			el("p", { class: "sure note" }, certainty(answer))),
		answer.computation && computed(answer.computation),
		evidence,
		says("A newer version of this document", answer.newer),
		says("Another document", answer.contradicted_by),
		el("div", { class: "actions" },
			markButtons(reply, answer, actions),
			copyButton(answer, actions),
			evidence
				? !answer.computation && button("Only in this", () => actions.only(`${answer.place.document_id} ${fileName(answer.document)}`))
				: button("Show", ({ currentTarget }) => actions.open(answer, currentTarget), { "data-key": "o" })));
}

/** What proves answers: their block, or sentences with some text around. */
function proof(rows) {
	const [{ passage, document, form, block }] = rows;
	const marks = rows.filter((row) => row.text && (row.text !== row.sentence.text || rows.length > 1)).flatMap((row) => [row, ...row.spans]);
	const isBlock = form === "block";
	const parts = isBlock ? block.pieces : windows(rows);
	return el("blockquote", { "data-kind": isBlock && block.kind, dir: "auto" }, parts.map((part) => el("p", part.cut && "… ",
		passage.start <= part.start && part.end <= passage.end
			? quoted(passage, document, part.start, part.end, marks, !isBlock && rows.map((row) => row.sentence))
			: part.text,
		part.ends && " …")));
}

/** Sentences in paragraphs. */
function windows(rows) {
	const parts = [];
	for (const { passage, sentence } of [...rows].sort((a, b) => a.sentence.start - b.sentence.start)) {
		const before = cut(passage.text, 0, sentence.start - passage.start).split("\n\n").at(-1);
		const behind = cut(passage.text, sentence.end - passage.start).split("\n\n")[0];
		const lead = /(?<!\S)[^]{0,140}$/.exec(before)?.[0] ?? "";
		const rest = /^[^]{0,140}(?!\S)/.exec(behind)?.[0] ?? "";
		const part = { start: sentence.start - characters(lead), end: sentence.end + characters(rest), ends: rest !== behind };
		const last = parts.at(-1);
		if (last && part.start <= last.end) Object.assign(last, part.end > last.end && { end: part.end, ends: part.ends });
		else parts.push({ ...part, cut: lead !== before });
	}
	return parts;
}

function computed({ operation, column, rows, looked_at }) {
	const what = operation !== "count" ? `The ${operation} ${column}` : column ? `The different values of ${column}` : "Counted";
	const [unit, whole] = operation === "latest" ? ["heading", "change log"] : ["row", "table"];
	return el("details", { open: rows.length <= SHOWN_ROWS },
		el("summary", `${what} in ${counted(looked_at, unit)} of a ${whole}`),
		el("ul", rows.map((row) => el("li", { dir: "auto" }, `${row.text} (${fileName(row.document)})`))));
}

const sourceLine = (row, { open }) => el("p", { class: "place" },
	link(placeOf(row), row.url, (opener) => open(row, opener), { "data-key": "o" }),
	row.link && el("a", { href: row.link, target: "_blank", rel: "noopener noreferrer" }, "On its site"));

function none(reply, actions) {
	const { guess, nearest = [], reason } = reply;
	const place = el("div");
	const show = ({ currentTarget }) => {
		currentTarget.remove();
		fill(place, group([guess], reply, actions));
		place.parentElement.querySelector(`[data-passage="${guess.place.document_id} ${guess.passage.start}"]`)?.remove();
		place.querySelector("article").focus();
	};
	return el("section", { class: "none", tabindex: -1, "aria-labelledby": "none" },
		el("h2", { id: "none" }, "The documents may not answer this"),
		reason && el("p", reason),
		el("div", { class: "actions" }, guess && button("Show the guess", show), markButtons(reply, null, actions)),
		place,
		nearest.length > 0 && el("h3", { class: "note" }, "The nearest passages"),
		nearest.map((hit) => el("article", { class: "near", tabindex: -1, "aria-label": placeOf(hit), "data-passage": `${hit.place.document_id} ${hit.passage.start}` },
			proof([hit]), sourceLine(hit, actions))));
}
