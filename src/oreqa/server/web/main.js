// The page: it asks one question at a time, and keeps its state in the address.

import { replyNodes } from "./answers.js";
import { get, post } from "./api.js";
import { asMarkdown, save } from "./copying.js";
import { button, byId, el, fill, followed, note } from "./dom.js";
import { explanationNodes } from "./explain.js";
import { createForm } from "./form.js";
import { createKeys } from "./keys.js";
import { createChooser, showMarks } from "./marks.js";
import { askBody, askKey, readRoute, routeAddress } from "./route.js";
import { createSource } from "./source.js";
import { counted, sentenceCase } from "./text.js";

const PATIENCE = 300; // ms before the page says that it reads
const TITLES = { offline: "No connection to the server", busy: "The server is busy" };
const [results, body] = [byId("results"), document.body];
const isWide = matchMedia("(min-width: 1100px)");
const replies = new Map(); // of this tab, by what was asked
let route = readRoute(location);
let status = null; // of the server
let shown = null; // what was asked last
let asking = null; // what ends the request that waits
let opened = null; // the row whose source was opened, by what, and the scroll
let expected = "";

const say = (text) => { byId("status").textContent = text; };
const failed = (problem) => (problem.kind === "login" ? showLogin() : say(sentenceCase(problem.message)));
const focusResult = () => results.querySelector("article, section")?.focus({ preventScroll: true });

const source = createSource(byId("source"), { close: closeSource, say });
const chooser = createChooser(byId("choosing"));
const keys = createKeys(byId("keys"), { toQuestion, escape });
const form = createForm((values) => {
	const next = { ...route, ...values, document: null };
	replies.delete(askKey(next));
	shown = null;
	expected = "";
	go(next);
});
const actions = {
	say,
	failed,
	open: openSource,
	only: (only) => go({ ...route, only, folder: "", document: null }),
	explain: () => go({ ...route, explain: true, document: null }),
	choose(row, act) {
		openSource(row, document.activeElement);
		source.show("Text");
		chooser.begin((place) => { closeSource(); act(row, place); });
	},
	get isReadOnly() { return status.read_only; },
};

function go(next) {
	const href = routeAddress(next);
	if (href !== location.pathname + location.search + location.hash) history.pushState({ isStep: true }, "", href);
	show(next);
}

function show(next) {
	route = next;
	document.title = route.question ? `${route.question} · oreqa` : "oreqa";
	if (shown !== askKey(route)) {
		shown = askKey(route);
		form.set(route, status.collections);
		void ask();
	}
	if (route.document) showSource(route.document);
	else if (source.target) hideSource();
}

async function ask() {
	const key = askKey(route);
	asking?.abort();
	asking = new AbortController();
	const { signal } = asking;
	body.classList.toggle("asked", Boolean(route.question));
	say("");
	if (!route.question) return fill(results, welcome());
	const wait = setTimeout(() => { fill(results); say(`Reading ${status.collections[0].reads ?? "the best"} passages`); }, PATIENCE);
	try {
		const [path, more] = route.explain ? ["/v1/explain", expected && { expected }] : ["/v1/ask"];
		if (!replies.has(key)) replies.set(key, await post(path, { ...askBody(route), ...more }, signal));
		if (!signal.aborted) (route.explain ? showExplanation : showReply)(replies.get(key));
	} catch (problem) {
		if (!signal.aborted) showProblem(problem);
	}
	return clearTimeout(wait);
}

/** Show nodes, with the focus unless somebody is elsewhere. */
function showResults(...nodes) {
	const isHere = document.activeElement === body || byId("main").contains(document.activeElement);
	fill(results, nodes);
	if (isHere && !route.document) focusResult();
	showBottom();
}

function showReply(reply) {
	showResults(replyNodes(reply, actions));
	showMarks(reply);
	say(reply.answers.length ? counted(reply.answers.length, "answer") : "No answer");
	if (status.collections.some(({ name, generation }) => (reply.generations[name] ?? generation) !== generation)) void loadStatus();
	if (isWide.matches && !route.document && reply.answers.length) showSource(targetOf(reply.answers[0]), true);
}

function showExplanation(row) {
	say("");
	showResults(explanationNodes(row, expected, {
		open: openSource,
		explain: (answer) => { expected = answer; replies.delete(askKey(route)); void ask(); },
		back: () => go({ ...route, explain: false }),
	}));
}

function welcome() {
	const { collections } = status;
	if (!collections.some((each) => each.documents)) {
		return el("section", { class: "none" }, el("h2", "There are no documents yet"),
			el("p", "Add some, and ask as soon as they are indexed:"), el("pre", "oreqa index FOLDER --index DIR"));
	}
	const updated = new Date(1000 * Math.max(...collections.map((each) => each.updated)));
	return note("Every answer comes with the sentence that proves it. Indexed on ",
		updated.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" }), ".");
}

function showProblem(problem) {
	if (problem.kind === "login") return showLogin();
	say("");
	return showResults(el("section", { class: "problem", role: "alert", tabindex: -1 },
		el("h2", TITLES[problem.kind] ?? "That did not work"),
		el("p", sentenceCase(problem.message), problem.wait > 0 && ` Try again in ${counted(problem.wait, "second")}.`),
		button("Try again", () => (status ? ask() : start()), { class: "main" })));
}

function showLogin() {
	const token = el("input", { id: "token", type: "password", autocomplete: "current-password", required: true });
	const fault = el("p", { role: "alert", class: "warning" });
	const onsubmit = (event) => {
		event.preventDefault();
		post("/login", { token: token.value }).then(start, (problem) => {
			fault.textContent = problem.kind === "login" ? "This is not the server's token." : sentenceCase(problem.message);
			token.focus();
		});
	};
	for (const id of ["ask", "bottom", "source"]) byId(id).hidden = true;
	body.className = "";
	say("");
	fill(results, el("form", { class: "login", onsubmit }, el("h2", "Sign in"),
		el("label", { for: "token" }, "The token of this server"), token, fault, el("button", { class: "main" }, "Sign in")));
	token.focus();
}

const targetOf = (row) => {
	const { start, end } = row.text == null ? row.sentence : row;
	return { id: row.place.document_id, collection: status.collections.length > 1 ? row.collection : "", start, end, row };
};

const isSame = (a, b) => ["id", "collection", "start", "end"].every((key) => a?.[key] === b[key]);

function openSource(row, opener) {
	const { row: _, ...target } = targetOf(row);
	opened = { row, opener, top: scrollY };
	go({ ...route, document: target });
}

/** Show a document; quietly beside the answers, or as a step. */
function showSource(target, isQuiet = false) {
	body.classList.add("sourced");
	body.classList.toggle("beside", isQuiet);
	const row = opened && isSame(targetOf(opened.row), target) && opened.row;
	if (!isSame(source.target, target)) void source.open({ row, ...target });
	if (!isQuiet) source.focus();
}

function hideSource() {
	source.hide();
	chooser.close();
	body.classList.remove("sourced", "beside");
	if (!opened) return;
	if (opened.opener.isConnected) opened.opener.focus({ preventScroll: true });
	else focusResult();
	scrollTo(0, opened.top);
	opened = null;
}

function closeSource() {
	if (route.document && history.state?.isStep) return history.back();
	const next = { ...route, document: null };
	history.replaceState(history.state, "", routeAddress(next));
	show(next);
	return route.question || form.focus();
}

function toQuestion() {
	if (!isWide.matches && route.document) closeSource();
	form.focus();
}

function escape(target) {
	const close = target.closest(".which")?.querySelector("[data-close]");
	if (close) close.click();
	else if (!byId("choosing").hidden) chooser.close();
	else if (source.target) closeSource();
	else focusResult();
}

async function loadStatus() {
	status = await get("/v1/status");
	form.showCollections(status.collections);
}

function showBottom() {
	const kept = [...replies.values()].filter((reply) => reply.generations).map(({ mark, ...reply }) => reply);
	byId("bottom").hidden = false;
	fill(byId("bottom"),
		kept.length > 0 && el("span", { class: "actions" },
			`Save ${kept.length > 1 ? `the answers to ${kept.length} questions` : "this answer"} as`,
			button("Markdown", () => save("answers.md", "text/markdown", asMarkdown(kept))),
			button("JSON", () => save("answers.json", "application/json", `${JSON.stringify(kept, null, 2)}\n`))),
		button("Keys", keys.show),
		status?.login && button("Sign out", () => post("/logout").then(() => location.reload(), failed)));
}

async function start() {
	try {
		await loadStatus();
	} catch (problem) {
		return showProblem(problem);
	}
	shown = null;
	form.show();
	show(readRoute(location));
	showBottom();
	if (status.uploads && !byId("files")) (await import("./uploads.js")).takeFiles(say, loadStatus);
	return route.question || route.document || form.focus();
}

followed(byId("home"), () => {
	go(readRoute({ pathname: "/", search: "", hash: "" }));
	form.focus();
});
addEventListener("popstate", () => status && show(readRoute(location)));
addEventListener("online", () => results.querySelector(".problem") && start());
document.addEventListener("visibilitychange", () => document.hidden || !status || loadStatus().catch(failed));
void start();
