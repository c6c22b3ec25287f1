// Keys: letters act on the answer that has the focus.

import { button, el, fill, note } from "./dom.js";

const OFF = "oreqa.keys-off";
const LIST = {
	"/": "go to the question", Enter: "ask", "Shift+Enter": "begin a new line",
	o: "open the source of an answer", c: "copy it with its source", r: "mark it as right", w: "mark it as wrong",
	Esc: "close what was opened last", "?": "show these keys",
};

const stored = (act) => {
	try { return act(localStorage); } catch { return null; } // blocked
};

export function createKeys(panel, { toQuestion, escape }) {
	let before = null;
	let isOff = stored((all) => all.getItem(OFF)) != null;

	function turn() {
		isOff = !isOff;
		stored((all) => (isOff ? all.setItem(OFF, "") : all.removeItem(OFF)));
		show();
	}

	function show() {
		if (panel.hidden) before = document.activeElement;
		panel.hidden = false;
		fill(panel,
			el("h2", { id: "keys-title" }, "Keys"),
			note(isOff ? "They are off, but for Enter, Esc and ?" : "Letters act on the answer that has the focus."),
			el("ul", Object.entries(LIST).map(([key, what]) => el("li", el("kbd", key), what))),
			el("div", { class: "actions" }, button(isOff ? "Turn them on" : "Turn them off", turn), button("Close", hide)));
		panel.focus();
	}

	function hide() {
		panel.hidden = true;
		before?.focus();
	}

	document.addEventListener("keydown", (event) => {
		const { key, target } = event;
		if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
		if (key === "Escape") {
			if (panel.hidden) escape(target);
			else hide();
		}
		if (target.closest("input:not([type=radio]), textarea, select")) return;
		const control = /^[ocrw]$/.test(key) && target.closest("article, .none")?.querySelector(`[data-key=${key}]`);
		const act = key === "?" ? (panel.hidden ? show : hide) : isOff ? null : key === "/" ? toQuestion : control && (() => control.click());
		if (!act) return;
		event.preventDefault();
		act();
	});

	return { show };
}
