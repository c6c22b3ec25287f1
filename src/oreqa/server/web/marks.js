// What people say of answers: right, wrong, which text is right, or that the documents hold no answer.

import { post, remove } from "./api.js";
import { button, el, fill } from "./dom.js";
import { characters, cut, placeOf, sentencesOf } from "./text.js";

const SAID = { right: "Saved: this answer is right.", wrong: "Saved: this answer is wrong.", none: "Saved: the documents do not say." };

/** What can be said of an answer, or, where answer is null, of a question without one. */
export function markBar(reply, answer, actions) {
  if (actions.isReadOnly) return null;
  const rows = answer ? [answer, ...reply.answers.filter((row) => row.passage.text !== answer.passage.text)] : reply.nearest ?? [];
  const which = ({ currentTarget }) => askWhich(currentTarget.closest(".actions"), reply, answer, rows, actions);
  const bar = (label, ...buttons) => el("span", { class: "actions", role: "group", "aria-label": label }, buttons);
  const toggle = (text, key, verdict, act) =>
    button(text, act, { "data-key": key, "data-verdict": verdict, "data-of": answer?.id ?? "", "aria-pressed": "false" });
  if (!answer) {
    return bar("Do the documents answer it?",
      rows.length > 0 && button("They do answer it", which, { "data-key": "w" }),
      toggle("Right, they do not", "r", "none", () => set(reply, answer, actions, "none", rows[0])));
  }
  const { passage, start, end, text } = answer;
  const isText = cut(passage.text, start - passage.start, end - passage.start) === text;
  return bar("Is this answer right?",
    isText && toggle("Right", "r", "right", () => set(reply, answer, actions, "right", answer, answer)),
    toggle("Wrong", "w", "wrong", async (event) => {
      const { currentTarget } = event;
      if (await set(reply, answer, actions, "wrong", answer)) which({ currentTarget });
      else currentTarget.closest("article").querySelector(".which")?.remove();
    }));
}

/** Show what was said of a reply's question: one answer at most is the right one. */
export function showMarks({ mark }) {
  for (const control of document.querySelectorAll("[data-verdict]")) {
    const isSet = mark?.verdict === control.dataset.verdict && mark.of === control.dataset.of;
    control.setAttribute("aria-pressed", String(isSet));
  }
}

/** Say it, or take it back if it was said; row is what it is about, place the text that is right. Whether it stands now. */
async function set(reply, given, actions, verdict, row, place) {
  const of = given?.id ?? "";
  const isSet = reply.mark?.verdict === verdict && reply.mark.of === of && verdict !== "corrected";
  try {
    if (isSet) return await takeBack(reply, actions);
    const { id } = await post("/v1/marks", {
      question: reply.question,
      verdict,
      given: given?.text ?? "",
      ...(row && { collection: row.collection }),
      ...(place && { document_id: row.place.document_id, start: place.start, end: place.end }),
    });
    reply.mark = { id, verdict, of };
  } catch (problem) {
    actions.failed(problem);
    return false;
  }
  actions.say(SAID[verdict] ?? "Saved.");
  showMarks(reply);
  return true;
}

async function takeBack(reply, actions) {
  await remove(`/v1/marks/${reply.mark.id}`);
  reply.mark = null;
  actions.say("Taken back.");
  showMarks(reply);
  return false;
}

/** Ask which text is right: a sentence of the passages, one that people select in the source, or none. */
function askWhich(bar, reply, given, rows, actions) {
  const home = bar.closest("article, section");
  home.querySelector(":scope > .which")?.remove();
  const form = el("form", { class: "which" });
  const leave = () => { form.remove(); home.querySelector("[data-key=w]").focus(); };
  const finish = async (verdict, row, place) => {
    if (!(await set(reply, given, actions, verdict, row, place))) return;
    const undo = () => takeBack(reply, actions).then(leave, actions.failed);
    const text = place ? `Saved: “${place.text}” is the right answer.` : SAID.none;
    fill(form, el("p", { tabindex: -1 }, text, " ", button("Undo", undo)));
    form.firstChild.focus();
  };
  const choices = rows.flatMap((row) => sentencesOf(row.passage).map((place) => ({ row, place })));
  fill(form,
    el("fieldset", {},
      el("legend", {}, "Which sentence answers it?"),
      choices.map(({ row, place }, n) => [
        rows.length > 1 && row !== choices[n - 1]?.row && el("p", { class: "note" }, placeOf(row)),
        el("label", {}, el("input", { type: "radio", name: "n", value: n, required: true }), el("span", { dir: "auto" }, place.text)),
      ])),
    el("div", { class: "actions" },
      el("button", { class: "main" }, "Save"),
      button("Select it in the text", () => actions.choose(rows[0], (row, place) => finish("corrected", row, place))),
      button("They do not say", () => finish("none", rows[0])),
      button("Close", leave, { "data-close": true })));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { row, place } = choices[new FormData(form).get("n")];
    void finish("corrected", row, place);
  });
  bar.closest("article > .actions, section > .actions").after(form);
  form.querySelector("input").focus();
}

/** Lets people select a text in the source; begin takes what is called with its characters. */
export function createChooser(bar, { say }) {
  let act = null;
  const close = () => { bar.hidden = true; };
  const use = button("", () => {
    const place = selected();
    if (!place) return say("Select the right text in the source first.");
    close();
    return act(place);
  }, { class: "main" });
  const show = () => {
    const text = selected()?.text;
    use.disabled = !text;
    use.textContent = text ? `Use “${text.length > 60 ? `${text.slice(0, 60)}…` : text}”` : "Use the selected text";
  };
  fill(bar, el("p", {}, "Select the right answer in the text."), use, button("Cancel", close));
  document.addEventListener("selectionchange", () => bar.hidden || show());
  return { close, begin: (next) => { act = next; bar.hidden = false; show(); } };
}

/** The selected text of one passage of the source, without blanks at its ends, with the document's characters. */
function selected() {
  const selection = getSelection();
  const range = selection.rangeCount ? selection.getRangeAt(0) : null;
  const home = range?.startContainer.parentElement?.closest("[data-start]");
  const text = range?.toString().trim();
  if (!home || !home.contains(range.endContainer) || !text) return null;
  const before = document.createRange();
  before.selectNodeContents(home);
  before.setEnd(range.startContainer, range.startOffset);
  const lead = before.toString() + /^\s*/.exec(range.toString())[0];
  const start = Number(home.dataset.start) + characters(lead);
  return { start, end: start + characters(text), text };
}
