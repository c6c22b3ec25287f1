// Elements. Texts become text nodes, never markup.

export const byId = (id) => document.getElementById(id);

/** A text as nodes: --no-deps and TX-7 stay in one line; what is longer than phones are wide may break. */
const held = (text) => text.split(/((?<![\w-])(?=-|(?=\w+-)[\w-]*[\d_])[\w-]{2,24})/)
	.map((piece, n) => (n % 2 ? Object.assign(document.createElement("nobr"), { textContent: piece }) : piece));

const kept = (children) => children.flat(Infinity).filter((child) => child != null && child !== false)
	.flatMap((child) => (typeof child === "string" ? held(child) : child));

/** An element with attributes, if any, listeners (as onclick) and children */
export function el(name, first, ...children) {
	const element = document.createElement(name);
	const isAttributes = first?.constructor === Object;
	for (const [key, value] of Object.entries(isAttributes ? first : {})) {
		if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
		else if (value != null && value !== false) element.setAttribute(key, value === true ? "" : value);
	}
	element.append(...kept([isAttributes ? null : first, ...children]));
	return element;
}

export const fill = (element, ...children) => element.replaceChildren(...kept(children));

export const note = (...children) => el("p", { class: "note" }, children);

/** The words that were asked for in place of others. */
export const respeltNotes = ({ respelt }) =>
	Object.entries(respelt).map(([word, written]) => note(`“${word}” is in no document; asked for “${written}”.`));

export const button = (text, onclick, attributes) => el("button", { type: "button", onclick, ...attributes }, text);

/** The page follows a link itself, but not with Ctrl or another key. */
export function followed(anchor, follow) {
	anchor.addEventListener("click", (event) => {
		if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
		event.preventDefault();
		follow(anchor);
	});
	return anchor;
}

export const link = (text, href, follow, attributes) => followed(el("a", { href, ...attributes }, text), follow);
