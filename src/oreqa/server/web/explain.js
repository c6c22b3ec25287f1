// How the answers to a question came about: search, reading and probability, side by side.

import { button, el, link, note, respeltNotes } from "./dom.js";
import { certainty, percent, placeOf } from "./text.js";

const stage = (title, text, ...rest) => el("section", el("h3", title), note(text), rest);
const joined = (...parts) => note(parts.flat().filter(Boolean).join(" · "));
const signed = (value) => value.toFixed(2).replace("-", "−");

export function explanationNodes(row, expected, actions) {
	const input = el("input", { id: "expected", value: expected, dir: "auto" });
	const submit = (event) => { event.preventDefault(); actions.explain(input.value.trim()); };
	const words = (what, list) => list.length > 0 && note(`${what} contains “${list.join("”, “")}”.`);
	return el("section", { class: "explained", tabindex: -1, "aria-labelledby": "why" },
		el("h2", { id: "why", dir: "auto" }, row.reason),
		row.next_step && el("p", row.next_step),
		respeltNotes(row),
		words("No document", row.absent_words.filter((word) => !(word in row.respelt))),
		words("No passage that was read", row.unread_words),
		el("div", { class: "stages" }, search(row, actions), reading(row), probability(row)),
		el("form", { class: "actions", onsubmit: submit },
			el("label", { for: "expected" }, "The right answer"), input, el("button", "Find where it was lost")),
		el("p", { class: "after" }, button("Back to the answers", actions.back)));
}

function search({ hits }, { open }) {
	const shown = hits.filter((hit) => hit.rank <= 8 || hit.was_read || hit.holds_expected).slice(0, 16);
	const ranks = (hit, what, name) => name in hit.ranks && `${what} ${hit.ranks[name]}`;
	return stage("1. Search", "The best passages, and how they rank by cosine and by BM25.",
		el("ol", shown.map((hit) => el("li", { value: hit.rank },
			link(placeOf(hit), hit.url, (opener) => open(hit, opener)),
			joined(ranks(hit, "cosine", "sentence_cosine"), ranks(hit, "BM25", "sentence_bm25"),
				hit.was_read ? "read" : hit.lacks_names ? "lacks the identifier" : "not read",
				hit.holds_expected && "holds the right answer"),
			hit.answer && el("p", { dir: "auto" }, hit.answer)))));
}

function reading({ answers }) {
	const parts = ({ scores, score }) => Object.entries({ ...scores, score })
		.map(([name, value]) => /^(span|selection|retrieval|structure|agreement|reranking|score)$/.test(name) && `${name} ${signed(value)}`);
	return stage("2. Reading", answers.length ? "The best answers, and what their scores are made of." : "No answer was read.",
		el("ol", answers.slice(0, 5).map((answer) => el("li",
			el("p", { dir: "auto" }, answer.text), joined(certainty(answer), answer.computation ? [] : parts(answer))))));
}

function probability({ log_odds, threshold, answers: [best] }) {
	const parts = Object.entries(log_odds).sort((a, b) => a[1] - b[1]);
	const most = Math.max(...parts.map(([, value]) => Math.abs(value)));
	const line = (name, value, isSum) => {
		const bar = el("i", { class: value < 0 && "less" });
		bar.style.width = `${(50 * Math.abs(value)) / most}%`;
		return el("tr", el("th", { scope: "row" }, name), el("td", signed(value)), el("td", !isSum && bar));
	};
	return stage("3. Probability",
		threshold == null
			? "These models give no probability, and so refuse nothing."
			: `${best?.confidence != null ? `The first answer has ${percent(best.confidence)}; an` : "An"} answer needs ${percent(threshold)}.`,
		parts.length > 0 && el("table",
			el("caption", { class: "note" }, "What adds to its log-odds"),
			parts.map(([name, value]) => line(name, value)),
			line("sum", parts.reduce((sum, [, value]) => sum + value, 0), true)));
}
