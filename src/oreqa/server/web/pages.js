// Pages of a PDF with rectangles where the answer stands, and their text below.

import { address, get } from "./api.js";
import { button, el, fill, note } from "./dom.js";
import { unwrapped } from "./text.js";

const WIDTHS = [800, 1200, 1600];

/** The pages of a document; marks are ranges of its text, textOf gives the passages of a page. */
export function pagesNode({ id, collection, name }, marks, first, textOf) {
	const path = `/v1/documents/${id}`;
	const at = (width) => address(`${path}/pages/${page}`, { collection, width });
	const state = note();
	const image = el("img", {
		sizes: "(min-width: 1100px) 50vw, 95vw",
		onload: () => { state.textContent = ""; },
		onerror: () => get(at(WIDTHS[0])).catch((problem) => { state.textContent = problem.message; }),
	});
	const over = el("div");
	const text = el("div", { class: "text" });
	const input = el("input", { type: "number", min: 1, id: "page", onchange: () => go(input.valueAsNumber) });
	const total = el("span");
	const back = button("Previous", () => go(page - 1));
	const forth = button("Next", () => go(page + 1));
	let page = 0;
	let boxes = [];
	let count = Infinity;
	state.setAttribute("role", "status");

	function go(to) {
		if (to >= 1 && to <= count && to !== page) {
			page = to;
			image.srcset = WIDTHS.map((width) => `${at(width)} ${width}w`).join(", ");
			image.alt = `Page ${page}, whose text stands below`;
			const passages = textOf(page).map((passage) => el("p", { class: "passage", dir: "auto" }, unwrapped(passage.text, name)));
			fill(text, el("h3", `The text of page ${page}`), passages.length ? passages : note("It stands in the view Text."));
		}
		input.value = page;
		back.disabled = page === 1;
		forth.disabled = page >= count;
		fill(over, boxes.filter((box) => box.page === page).map((box) => {
			const element = el("i");
			element.style.inset = [box.top, 1 - box.right, 1 - box.bottom, box.left].map((share) => `${100 * share}%`).join(" ");
			return element;
		}));
	}

	async function findBoxes() {
		const ranges = marks.length ? marks : [{ start: 0, end: 1 }]; // for the number of pages
		const ask = ({ start, end }) => get(`${path}/boxes`, { collection, start, end });
		const replies = await Promise.all(ranges.map(ask)).catch((problem) => { state.textContent = problem.message; });
		if (!replies) return;
		if (marks.length) boxes = replies.flatMap((reply) => reply.boxes);
		count = replies[0].page_count;
		total.textContent = ` of ${count}`;
		if (marks.length && !boxes.length) state.textContent = "Where the answer stands on the page is not known: it may be a scan.";
		go(boxes.some((box) => box.page === page) ? page : boxes[0]?.page ?? page);
	}

	go(first);
	void findBoxes();
	return el("div",
		el("nav", { class: "pager", "aria-label": "Pages" },
			back, el("span", el("label", { for: "page" }, "Page "), input, total), forth),
		state, el("div", { class: "sheet" }, image, over), text);
}
