// Elements. Texts become text nodes, never markup.

export const byId = (id) => document.getElementById(id);

const kept = (children) => children.flat(Infinity).filter((child) => child != null && child !== false);

/** An element with attributes, listeners (their names begin with "on") and children; what is null or false is left out. */
export function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value != null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...kept(children));
  return element;
}

/** Show children in place of what an element held. */
export const fill = (element, ...children) => element.replaceChildren(...kept(children));

export const note = (...children) => el("p", { class: "note" }, children);

export const button = (text, onclick, attributes) => el("button", { type: "button", onclick, ...attributes }, text);

/** A link that the page follows itself; with Ctrl or another key the browser does. */
export function followed(anchor, follow) {
  anchor.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    follow(anchor);
  });
  return anchor;
}

export const link = (text, href, follow, attributes) => followed(el("a", { href, ...attributes }, text), follow);
