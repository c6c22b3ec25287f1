// The source panel: a document's text at the answer, its contents, the pages of a PDF, and its file.

import { address, get } from "./api.js";
import { copyButton } from "./copying.js";
import { button, el, fill, note } from "./dom.js";
import { pagesNode } from "./pages.js";
import { cut, fileName, lastOf, quoted } from "./text.js";

const CHANGED = "This document was changed since the answer was given, which does not stand here any more. Ask again.";
const REASONS = {
  changed: "The file was changed after it was indexed. This is the text as it was then.",
  gone: "The file is gone, or cannot be read any more. This is the text as it was when it was indexed.",
};

/** Shows documents in a panel. close: what its button does; say: tell people what has happened. */
export function createSource(panel, { close, say }) {
  let view = null; // what is shown: the target, the document's row, its loaded passages, and the ranges that are marked

  const textOf = (at) => get(`/v1/documents/${view.target.id}/text`, { collection: view.target.collection, ...at });

  /** Show a document: its id and collection, the characters from start to end, and of an answer or hit its row. */
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
      draw();
    } catch (problem) {
      if (view !== opened) return;
      const detail = problem.kind === "missing" ? "This document is not in the index any more. Ask again." : problem.message;
      fill(panel, head(), el("div", { class: "problem", role: "alert" }, el("p", {}, detail), button("Try again", () => open(target))));
    }
  }

  /** The ranges of the target, or null if the text there is not the one of the answer. */
  function marksOf({ start, end, row }) {
    if (!end) return [];
    const wanted = row && !row.computation ? row.text ?? row.sentence.text : "";
    const passage = view.passages.find((each) => each.start <= start && end <= each.end);
    if (!passage || !cut(passage.text, start - passage.start, end - passage.start).includes(wanted)) return null;
    return row?.form === "block" ? row.block.pieces : [{ start, end }];
  }

  function head() {
    const { row, target } = view;
    const title = row?.title || row?.name || target.row?.title || fileName(target.row?.document ?? "Document");
    const original = row && address(`/v1/documents/${row.id}/original`, { collection: row.collection });
    return el("header", {},
      el("div", { class: "title" },
        el("h2", { id: "source-title", tabindex: -1, dir: "auto" }, title),
        button("", close, { id: "close" })),
      row && el("div", { class: "actions" },
        row.drawable && el("span", { class: "actions", role: "group", "aria-label": "View" },
          ["Text", "Page"].map((name) => button(name, () => show(name === "Page"), { "aria-pressed": String(!view.isPage === (name === "Text")) }))),
        row.source === "same" && el("a", { href: original, download: row.name }, "Original"),
        target.row && copyButton(target.row, { say })),
      row && REASONS[row.source] && el("p", { class: "warning" }, REASONS[row.source]));
  }

  function show(isPage) {
    view.isPage = isPage;
    draw();
    panel.querySelector("[aria-pressed=true]")?.focus();
  }

  function draw() {
    const { row, marks, passages, target } = view;
    if (view.isPage) {
      const at = marks?.[0]?.start ?? target.start;
      const first = passages.find((passage) => at < passage.end)?.place.page;
      const page = target.row?.place.page ?? first ?? 1;
      fill(panel, head(), pagesNode(row, marks ?? [], page, (number) => passages.filter((each) => each.place.page === number)));
      return;
    }
    view.list = el("div", { class: "text" });
    fill(panel, head(), marks === null && el("p", { class: "warning" }, CHANGED), contents(), view.list);
    drawText();
    const mark = panel.querySelector("mark");
    if (mark) mark.scrollIntoView({ block: "center" });
    else panel.scrollTop = 0;
  }

  function drawText() {
    let heading = "";
    let place = null;
    const nodes = view.passages.map((passage) => {
      const above = passage.heading !== heading && passage.heading;
      const name = passage.place.name?.startsWith("#") ? null : passage.place.name;
      const where = name && name !== place && el("p", { class: "where note" }, name);
      heading = passage.heading;
      place = name ?? place;
      const marks = (view.marks ?? []).filter((mark) => mark.start < passage.end && passage.start < mark.end);
      return [above && el("h3", { dir: "auto", title: above }, lastOf(above)), where,
        el("p", { class: "passage", dir: "auto", "data-start": passage.start },
          quoted(passage, view.row.name, passage.start, passage.end, marks))];
    });
    fill(view.list,
      view.before != null && button("Earlier text", () => further("before", { end: view.before })),
      nodes.length ? nodes : note("This document has no text."),
      view.after != null && button("Later text", () => further("after", { start: view.after })));
  }

  async function further(side, at) {
    const text = await textOf(at).catch((problem) => say(problem.message));
    if (!text) return;
    const next = view.list.querySelector(".passage" + (side === "before" ? "" : ":last-of-type")).dataset.start;
    view.passages = side === "before" ? [...text.passages, ...view.passages] : [...view.passages, ...text.passages];
    view[side] = text[side];
    drawText();
    goTo(next, side === "before" ? "start" : "end");
  }

  function contents() {
    const runs = view.row.contents.filter((run) => run.heading);
    const go = async ({ start }) => {
      if (!view.passages.some((passage) => passage.start === start)) {
        const text = await textOf({ around: start }).catch((problem) => say(problem.message));
        if (!text) return;
        Object.assign(view, text);
        drawText();
      }
      goTo(start, "start");
    };
    const isHere = ({ start, end }) => start <= view.target.start && view.target.start < end;
    return runs.length > 1 && el("details", { class: "contents" }, el("summary", {}, "Contents"),
      el("ol", {}, runs.map((run) => el("li", { class: `level-${Math.min(4, run.heading.split(" > ").length)}` },
        button(lastOf(run.heading), () => go(run), { dir: "auto", "aria-current": view.target.end && isHere(run) && "true" })))));
  }

  function goTo(start, block) {
    const passage = view.list.querySelector(`[data-start="${start}"]`);
    const heading = passage.previousElementSibling;
    const place = heading?.matches("h3, .where") ? heading : passage;
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
    place.scrollIntoView({ block });
  }

  return {
    open,
    show,
    hide: () => { view = null; panel.hidden = true; },
    focus: () => panel.querySelector("h2").focus({ preventScroll: true }),
    get target() { return view?.target; },
  };
}
