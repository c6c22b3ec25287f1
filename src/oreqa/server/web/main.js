// The page: it asks one question at a time, shows the answers with what proves them, and keeps its state in the address.

import { replyNodes } from "./answers.js";
import { get, post } from "./api.js";
import { asMarkdown, save } from "./copying.js";
import { button, byId, el, fill, note } from "./dom.js";
import { explanationNodes } from "./explain.js";
import { createForm } from "./form.js";
import { createKeys } from "./keys.js";
import { createChooser, showMarks } from "./marks.js";
import { askBody, askKey, readRoute, routeAddress } from "./route.js";
import { createSource } from "./source.js";
import { counted, inWords, sentenceCase } from "./text.js";

const PATIENCE = 300; // milliseconds before the page says that it reads
const TITLES = { offline: "No connection to the server", busy: "The server is busy" };

const results = byId("results");
const isWide = matchMedia("(min-width: 1100px)");
const replies = new Map(); // of this tab, by what was asked
const page = { route: readRoute(location), status: null, shown: null, asking: null, opener: null, row: null, top: 0, expected: "" };

const say = (text) => { byId("status").textContent = text; };
const failed = (problem) => (problem.kind === "login" ? showLogin() : say(sentenceCase(problem.message)));

const source = createSource(byId("source"), { close: closeSource, say });
const chooser = createChooser(byId("choosing"), { say });
const keys = createKeys(byId("keys"), { toQuestion, escape });
const form = createForm((values) => {
  const route = { ...page.route, ...values, document: null };
  replies.delete(askKey(route));
  page.shown = null;
  page.expected = "";
  go(route);
});
const actions = {
  say,
  failed,
  open: openSource,
  only: (only) => go({ ...page.route, only, folder: "", document: null }),
  explain: () => go({ ...page.route, explain: true, document: null }),
  choose(row, act) {
    openSource(row, document.activeElement);
    chooser.begin((place) => { closeSource(); act(row, place); });
  },
  get isReadOnly() { return page.status.read_only; },
};

/** Go to a route: a step in the browser's history. */
function go(route) {
  const next = routeAddress(route);
  if (next !== location.pathname + location.search + location.hash) history.pushState({ isStep: true }, "", next);
  show(route);
}

function show(route) {
  page.route = route;
  document.title = route.question ? `${route.question} · oreqa` : "oreqa";
  if (page.shown !== askKey(route)) {
    page.shown = askKey(route);
    form.set(route);
    form.showCollections(page.status.collections, route.collection);
    void ask(route);
  }
  if (route.document) showSource(route.document);
  else if (source.target) hideSource();
}

async function ask(route) {
  page.asking?.abort();
  page.asking = new AbortController();
  const { signal } = page.asking;
  const key = askKey(route);
  document.body.classList.toggle("asked", Boolean(route.question));
  say("");
  if (!route.question) return fill(results, welcome());
  const wait = setTimeout(() => { fill(results); say(reading()); }, PATIENCE);
  try {
    if (!replies.has(key)) {
      const expected = route.explain && page.expected ? { expected: page.expected } : {};
      replies.set(key, await post(route.explain ? "/v1/explain" : "/v1/ask", { ...askBody(route), ...expected }, signal));
    }
    if (!signal.aborted) (route.explain ? showExplanation : showReply)(replies.get(key), route);
  } catch (problem) {
    if (!signal.aborted) showProblem(problem);
  } finally {
    clearTimeout(wait);
  }
}

function reading() {
  const most = Math.max(...page.status.collections.map((each) => each.reads ?? 0));
  return most > 0 ? `Reading ${inWords(most)} passages` : "Reading the documents";
}

/** Show what answers, and take the focus along, unless somebody is elsewhere by now. */
function showResults(...nodes) {
  const isHere = document.activeElement === document.body || byId("main").contains(document.activeElement);
  fill(results, nodes);
  if (isHere && !page.route.document) results.querySelector("article, section")?.focus({ preventScroll: true });
  showBottom();
}

function showReply(reply) {
  showResults(replyNodes(reply, actions));
  showMarks(reply);
  say(reply.answers.length ? counted(reply.answers.length, "answer") : "No answer");
  const isOld = ({ name, generation }) => name in reply.generations && reply.generations[name] !== generation;
  if (page.status.collections.some(isOld)) void loadStatus();
  if (isWide.matches && !page.route.document && reply.answers.length) showSource(targetOf(reply.answers[0]), true);
}

function showExplanation(row, route) {
  say("");
  showResults(explanationNodes(row, page.expected, {
    open: openSource,
    explain: (expected) => { page.expected = expected; replies.delete(askKey(route)); void ask(route); },
    back: () => go({ ...route, explain: false }),
  }));
}

/** What stands where answers will. */
function welcome() {
  const { collections } = page.status;
  if (!collections.some((each) => each.documents)) {
    return el("section", { class: "none" }, el("h2", {}, "There are no documents yet"),
      el("p", {}, "Add some, and ask as soon as they are indexed:"), el("pre", {}, "oreqa index FOLDER --index DIR"));
  }
  const updated = new Date(1000 * Math.max(...collections.map((each) => each.updated)));
  return note(`Every answer comes with the sentence that proves it. Indexed on ${
    updated.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}.`);
}

function showProblem(problem) {
  if (problem.kind === "login") return showLogin();
  const wait = problem.wait ? ` Try again in ${counted(problem.wait, "second")}.` : "";
  const again = () => (page.status ? ask(page.route) : start());
  say("");
  return showResults(el("section", { class: "problem", role: "alert", tabindex: -1 },
    el("h2", {}, TITLES[problem.kind] ?? "That did not work"),
    el("p", {}, sentenceCase(problem.message) + wait),
    button("Try again", again, { class: "main" })));
}

function showLogin() {
  const token = el("input", { id: "token", type: "password", autocomplete: "current-password", required: true });
  const fault = el("p", { role: "alert", class: "warning" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await post("/login", { token: token.value });
      await start();
    } catch (problem) {
      fault.textContent = problem.kind === "login" ? "This is not the server's token." : sentenceCase(problem.message);
      token.focus();
    }
  };
  for (const id of ["ask", "bottom", "source"]) byId(id).hidden = true;
  document.body.classList.remove("sourced", "beside");
  say("");
  fill(results, el("form", { class: "login", onsubmit: submit }, el("h2", {}, "Sign in"),
    el("label", { for: "token" }, "The token of this server"), token, fault, el("button", { class: "main" }, "Sign in")));
  token.focus();
}

const targetOf = (row) => {
  const { start, end } = row.text == null ? row.sentence : row;
  const isOneOfMany = page.status.collections.length > 1;
  return { id: row.place.document_id, collection: isOneOfMany ? row.collection : "", start, end, row };
};

const isSame = (a, b) => Boolean(a) && ["id", "collection", "start", "end"].every((key) => a[key] === b[key]);

function openSource(row, opener) {
  const { row: _, ...target } = targetOf(row);
  Object.assign(page, { opener, row });
  go({ ...page.route, document: target });
}

/** Show a document; quietly beside the answers, or as a step of its own. */
function showSource(target, isQuiet = false) {
  const { classList } = document.body;
  if (!isQuiet && !classList.contains("sourced")) page.top = scrollY;
  classList.add("sourced");
  classList.toggle("beside", isQuiet);
  const row = page.row && isSame(targetOf(page.row), target) ? page.row : undefined;
  if (!isSame(source.target, target)) void source.open({ row, ...target });
  if (!isQuiet) source.focus();
}

function hideSource() {
  source.hide();
  chooser.close();
  document.body.classList.remove("sourced", "beside");
  const back = page.opener?.isConnected ? page.opener : page.opener && results.querySelector("article");
  back?.focus({ preventScroll: true });
  if (back) scrollTo(0, page.top);
  page.opener = null;
}

function closeSource() {
  if (page.route.document && history.state?.isStep) return history.back();
  const route = { ...page.route, document: null };
  history.replaceState(history.state, "", routeAddress(route));
  show(route);
  return page.route.question || form.focus();
}

function toQuestion() {
  if (!isWide.matches && page.route.document) closeSource();
  form.focus();
}

function escape(target) {
  const close = target.closest(".which")?.querySelector("[data-close]");
  if (close) close.click();
  else if (!byId("choosing").hidden) chooser.close();
  else if (source.target) closeSource();
  else results.querySelector("article, section")?.focus();
}

async function loadStatus() {
  page.status = await get("/v1/status");
  form.showCollections(page.status.collections);
}

function showBottom() {
  const kept = [...replies.values()].filter((reply) => reply.generations).map(({ mark, ...reply }) => reply);
  const signOut = () => post("/logout").then(() => location.reload(), failed);
  byId("bottom").hidden = false;
  fill(byId("bottom"),
    kept.length > 0 && el("span", { class: "actions" }, `Save ${kept.length === 1 ? "this answer" : `the answers to ${kept.length} questions`} as`,
      button("Markdown", () => save("answers.md", "text/markdown", asMarkdown(kept))),
      button("JSON", () => save("answers.json", "application/json", `${JSON.stringify(kept, null, 2)}\n`))),
    button("Keys", keys.show),
    page.status?.login && button("Sign out", signOut));
}

async function start() {
  try {
    await loadStatus();
  } catch (problem) {
    showProblem(problem);
    return;
  }
  page.shown = null;
  form.show();
  show(readRoute(location));
  showBottom();
  if (!page.route.question && !page.route.document) form.focus();
}

byId("home").addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(readRoute({ pathname: "/", search: "", hash: "" }));
  form.focus();
});
byId("collection").addEventListener("change", () => form.showCollections(page.status.collections));
addEventListener("popstate", () => page.status && show(readRoute(location)));
addEventListener("online", () => results.querySelector(".problem") && start());
document.addEventListener("visibilitychange", () => document.hidden || !page.status || loadStatus().catch(failed));
void start();
