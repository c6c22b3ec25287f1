// What people say of answers: right, wrong, what is right, or that there is none.

import { post, remove } from "./api.js";
import { button, el, fill } from "./dom.js";
import { characters, cut, placeOf, sentencesOf } from "./text.js";

const SAID = { right: "Saved: this answer is right.", wrong: "Saved: this answer is wrong.", none: "Saved: the documents do not say." };

/** What can be said of an answer, or of a question without one. */
export function markButtons(reply, answer, { isReadOnly, say, failed, choose }) {
	if (isReadOnly) return null;
	const of = answer?.id ?? "";
	const rows = answer ? [answer, ...reply.answers.filter((row) => row.passage.text !== answer.passage.text)] : reply.nearest ?? [];

	/** Say it, or take it back. Whether it stands now. */
	async function set(verdict, row, place) {
		const { mark } = reply;
		const isSet = mark?.verdict === verdict && mark.of === of && !place;
		try {
			if (isSet) return await takeBack();
			const { id, collection } = await post("/v1/marks", {
				question: reply.question,
				verdict,
				asked: Object.keys(reply.generations),
				given: answer?.text ?? "",
				...(row && { collection: row.collection }),
				...(/right|corrected/.test(verdict) && { document_id: row.place.document_id, start: (place ?? row).start, end: (place ?? row).end }),
			});
			reply.mark = { id, collection, verdict, of };
		} catch (problem) {
			failed(problem);
			return false;
		}
		say(SAID[verdict] ?? "Saved.");
		showMarks(reply);
		return true;
	}

	async function takeBack() {
		if (!reply.mark) return false;
		const { id, collection } = reply.mark;
		await remove(`/v1/marks/${id}`, { collection });
		reply.mark = null;
		say("Taken back.");
		showMarks(reply);
		return false;
	}

	/** Ask which text is right, if any. */
	function askWhich({ currentTarget: opener }) {
		const form = el("form", { class: "which" });
		const leave = () => { form.remove(); opener.focus(); };
		const undo = button("Undo", () => takeBack().then(leave, failed));
		const finish = async (verdict, row, place) => {
			if (!(await set(verdict, row, place))) return;
			fill(form, el("p", { tabindex: -1 }, place ? `Saved: “${place.text}” is the right answer.` : SAID.none, " ", undo));
			form.firstChild.focus();
		};
		const choices = rows.flatMap((row) => sentencesOf(row.passage).map((place) => ({ row, place })));
		fill(form,
			el("fieldset",
				el("legend", "Which sentence answers it?"),
				choices.map(({ row, place }, n) => [
					rows.length > 1 && row !== choices[n - 1]?.row && el("p", { class: "note" }, placeOf(row)),
					el("label", el("input", { type: "radio", name: "n", value: n, required: true }), el("span", { dir: "auto" }, place.text)),
				])),
			el("div", { class: "actions" },
				el("button", { class: "main" }, "Save"),
				button("Select it in the text", () => choose(rows[0], (row, place) => finish("corrected", row, place))),
				button("They do not say", () => finish("none", rows[0])),
				answer && undo,
				button("Close", leave, { "data-close": true })));
		form.addEventListener("submit", (event) => {
			event.preventDefault();
			const { row, place } = choices[new FormData(form).get("n")];
			void finish("corrected", row, place);
		});
		opener.closest("article, section").querySelector(":scope > .which")?.remove();
		opener.parentElement.after(form);
		form.querySelector("input").focus();
	}

	const toggle = (text, key, verdict, act = () => set(verdict, rows[0])) =>
		button(text, act, { "data-key": key, "data-verdict": verdict, "data-of": of, "aria-pressed": "false" });
	if (!answer) {
		return [rows.length > 0 && button("They do answer it", askWhich, { "data-key": "w" }), toggle("Right, they do not", "r", "none")];
	}
	const { passage, start, end, text } = answer;
	return [
		cut(passage.text, start - passage.start, end - passage.start) === text && toggle("Right", "r", "right"),
		toggle("Wrong", "w", "wrong", async ({ currentTarget }) => {
			if (await set("wrong", answer)) askWhich({ currentTarget });
			else currentTarget.closest("article").querySelector(".which")?.remove();
		})];
}

/** Show what was said. */
export function showMarks({ mark }) {
	for (const control of document.querySelectorAll("[data-verdict]")) {
		const { verdict, of } = control.dataset;
		control.ariaPressed = mark?.verdict === verdict && mark.of === of;
	}
}

/** Lets people select a text; begin takes what is called with it. */
export function createChooser(bar) {
	let act = null;
	const close = () => { bar.hidden = true; };
	const use = button("", () => {
		const place = selected();
		close();
		act(place);
	}, { class: "main" });
	const show = () => {
		const place = selected();
		const text = place?.text;
		use.disabled = !text;
		use.textContent = text ? `Use “${text.length > 60 ? `${text.slice(0, 60)}…` : text}”` : place ? "Select within one passage" : "Use the selected text";
	};
	fill(bar, el("p", "Select the right answer in the text."), use, button("Cancel", close));
	document.addEventListener("selectionchange", () => bar.hidden || show());
	return { close, begin: (next) => { act = next; bar.hidden = false; show(); } };
}

/** What is selected of one passage; no text if of others, too. */
function selected() {
	const selection = getSelection();
	const range = selection.rangeCount && selection.getRangeAt(0).cloneRange();
	const home = range && range.startContainer.parentElement?.closest("[data-start]");
	if (!home) return null;
	if (!home.contains(range.endContainer)) { // as after a third click
		const rest = range.cloneRange();
		rest.setStartAfter(home);
		if (String(rest).trim()) return {};
		range.setEndAfter(home.lastChild);
	}
	const raw = String(range);
	const text = raw.trim();
	const before = range.cloneRange();
	before.selectNodeContents(home);
	before.setEnd(range.startContainer, range.startOffset);
	const start = Number(home.dataset.start) + characters(before + raw.slice(0, raw.indexOf(text)));
	return text && { start, end: start + characters(text), text };
}
