// The source: a document's text at the answer, its contents, pages and file.

import { address, get } from "./api.js";
import { copyButton } from "./copying.js";
import { button, el, fill, note } from "./dom.js";
import { pagesNode } from "./pages.js";
import { cut, fileName, lastOf, placeName, quoted, sentenceCase } from "./text.js";

export function createSource(panel, { close, say }) {
	let view = null; // the target, the document's row, its loaded passages, and the ranges that are marked

	const textOf = (at) => get(`/v1/documents/${view.target.id}/text`, { collection: view.target.collection, ...at });
	const warning = (text) => el("p", { class: "warning" }, text);

	const focus = () => panel.querySelector("h2").focus({ preventScroll: true });

	/** Show a document from start to end, and of an answer or hit its row. */
	async function open(target) {
		const opened = (view = { target });
		panel.hidden = false;
		fill(panel, head(), note("Loading the text"));
		try {
			const about = get(`/v1/documents/${target.id}`, { collection: target.collection });
			const [row, text] = await Promise.all([about, textOf({ around: target.start })]);
			if (view !== opened) return;
			Object.assign(view, { row, ...text });
			view.marks = marksOf(target);
			const hasFocus = panel.contains(document.activeElement);
			draw();
			if (hasFocus) focus();
		} catch (problem) {
			if (view !== opened) return;
			fill(panel, head(), el("div", { class: "problem", role: "alert" },
				el("p", problem.kind === "missing" ? "This document is not in the index any more. Ask again." : problem.message),
				button("Try again", () => open(target))));
		}
	}

	/** The ranges of the target, or null if another text is there. */
	function marksOf({ start, end, row }) {
		if (!end) return [];
		const wanted = row && !row.computation ? row.text ?? row.sentence.text : "";
		const passage = view.passages.find((each) => each.start <= start && end <= each.end);
		if (!passage || !cut(passage.text, start - passage.start, end - passage.start).includes(wanted)) return null;
		return row?.form === "block" ? row.block.pieces : [{ start, end }, ...(row?.spans ?? [])];
	}

	function head() {
		const { row, target } = view;
		const { document: key = "Document", title } = row ?? target.row ?? {};
		const name = fileName(key);
		const original = row && address(`/v1/documents/${row.id}/original`, { collection: row.collection });
		const choice = (name) => button(name, () => show(name), { "aria-pressed": String(name === (view.kind ?? "Text")) });
		return el("header",
			el("header",
				el("h2", { tabindex: -1, dir: "auto" }, title && name.includes("#") ? `${title}, ${name}` : title || name), button("Close", close)),
			row && el("div", { class: "actions" },
				row.drawable && [choice("Text"), choice("Page")],
				row.source === "same" && el("a", { href: original, download: row.name }, "Original"),
				target.row && copyButton(target.row, { say })),
			/changed|gone/.test(row?.source) && warning(sentenceCase(row.reason)),
			row && view.kind !== "Page" && contents());
	}

	function show(kind) {
		if (!view?.row) return;
		view.kind = kind;
		draw();
		panel.querySelector("[aria-pressed=true]")?.focus();
	}

	function draw() {
		const { row, marks, passages, target, kind } = view;
		if (kind === "Page") {
			const at = marks?.[0]?.start ?? target.start;
			const page = target.row?.place.page ?? passages.find((passage) => at < passage.end)?.place.page ?? 1;
			fill(panel, head(), pagesNode(row, marks ?? [], page, (number) => passages.filter((each) => each.place.page === number)));
			return;
		}
		view.list = el("div", { class: "text" });
		fill(panel, head(),
			marks === null && warning("The document was changed: this answer does not stand here any more. Ask again."),
			view.list);
		drawText();
		const mark = panel.querySelector("mark");
		if (mark) mark.scrollIntoView({ block: "center" });
		else panel.scrollTop = 0;
	}

	function drawText() {
		const { passages, row, list, before, after } = view;
		const marks = view.marks ?? [];
		fill(list,
			before != null && button("Earlier text", () => load({ end: before })),
			passages.length ? passages.map((passage, n) => {
				const { heading, start, end } = passage;
				const last = passages[n - 1];
				const place = placeName(passage);
				return [
					heading && heading !== last?.heading && el("h3", { dir: "auto", title: heading }, lastOf(heading)),
					place && (!last || place !== placeName(last)) && el("p", { class: "where note" }, place),
					el("p", { class: "passage", dir: "auto", "data-start": start },
						quoted(passage, row.name, start, end, marks.filter((mark) => mark.start < end && start < mark.end)))];
			}) : note("This document has no text."),
			after != null && button("Later text", () => load({ start: after })));
	}

	/** Load the text before an end, behind a start, or around a place, and go there. */
	async function load({ start, end, around }) {
		const text = await textOf({ start, end, around }).catch((problem) => say(problem.message));
		if (!text) return;
		const { passages } = view;
		if (end != null) Object.assign(view, { before: text.before, passages: [...text.passages, ...passages] });
		else if (start != null) Object.assign(view, { after: text.after, passages: [...passages, ...text.passages] });
		else Object.assign(view, text);
		drawText();
		goTo(end != null ? passages[0].start : around ?? text.passages[0].start);
	}

	function goTo(start) {
		const passage = view.list.querySelector(`[data-start="${start}"]`);
		if (!passage) return load({ around: start });
		passage.tabIndex = -1;
		passage.focus({ preventScroll: true });
		const above = passage.previousElementSibling;
		return (above?.matches("h3, .where") ? above : passage).scrollIntoView();
	}

	function contents() {
		const runs = view.row.contents.filter((run) => run.heading);
		const at = view.target.end ? view.target.start : -1;
		return runs.length > 1 && el("details", { class: "contents" }, el("summary", "Contents"),
			el("ol", runs.map(({ heading, start, end }) => el("li", { class: `level-${Math.min(4, heading.split(" > ").length)}` },
				button(lastOf(heading), () => { panel.querySelector("details").open = false; goTo(start); }, { dir: "auto", "aria-current": start <= at && at < end && "true" })))));
	}

	return {
		open,
		show,
		hide: () => { view = null; panel.hidden = true; },
		focus,
		get target() { return view?.target; },
	};
}
