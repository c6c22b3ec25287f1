// The question, the collection, and the filters.

import { get } from "./api.js";
import { button, byId, el, fill } from "./dom.js";
import { counted } from "./text.js";

const LISTED = 1000; // documents whose folders and fields can be chosen

/** The form; ask is called with what a route takes from it. */
export function createForm(ask) {
	const [form, question, collection, folder, field, value, filters, only] =
		["ask", "question", "collection", "folder", "field", "value", "filters", "only"].map(byId);
	const fields = new Map();
	let onlyIn = "";
	let listed = null;

	const options = (texts) => [...new Set(texts)].sort().map((text) => el("option", text));
	const submit = () => {
		const text = value.value.trim();
		if (!/[\p{L}\p{N}]/u.test(question.value)) return question.focus();
		return ask({
			question: question.value.trim(), collection: collection.value, only: onlyIn, folder: folder.value.trim(),
			field: text && field.value, value: text,
		});
	};
	const grow = () => {
		question.style.height = "auto";
		question.style.height = `${question.scrollHeight + 2}px`;
	};

	async function list() {
		if (!filters.open || listed === collection.value) return;
		listed = collection.value;
		const { documents } = await get("/v1/documents", { collection: listed, limit: LISTED }).catch(() => ({ documents: [] }));
		const paths = documents.map((row) => row.document.split("#")[0].split("/").slice(0, -1));
		let shared = 0;
		while (shared < paths[0]?.length && paths.every((path) => path[shared] === paths[0][shared])) shared += 1;
		const folders = paths.flatMap((path) => path.slice(shared).map((_, n) => path.slice(shared, shared + n + 1).join("/")));
		fill(byId("folders"), options(folders));
		for (const [key, text] of documents.flatMap((row) => Object.entries(row.fields))) {
			fields.set(key, (fields.get(key) ?? new Set()).add(text));
		}
		const chosen = field.value;
		fill(field, options([...fields.keys(), ...(chosen ? [chosen] : [])]));
		if (chosen) field.value = chosen;
		for (const element of document.querySelectorAll(".of-fields")) element.hidden = !field.length;
		listValues();
	}

	function showCollections(collections, chosen = collection.value) {
		collection.hidden = collections.length < 2;
		collection.onchange = () => { showCollections(collections); void list(); };
		fill(collection, el("option", { value: "" }, "All collections"), collections.map((each) => el("option", each.name)));
		collection.value = chosen;
		const counts = collections.map((each) => (!chosen || each.name === chosen ? each.documents : 0));
		const state = collections.some((each) => each.watch?.state === "updating") ? ", indexing" : "";
		byId("size").textContent = counted(counts.reduce((sum, number) => sum + number, 0), "document") + state;
	}

	const listValues = () => fill(byId("values"), options(fields.get(field.value) ?? []));

	form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
	question.oninput = grow;
	new ResizeObserver(grow).observe(question);
	question.addEventListener("keydown", (event) => {
		if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		submit();
	});
	filters.addEventListener("toggle", list);
	field.addEventListener("change", listValues);

	return {
		question,
		show: () => { form.hidden = false; },
		focus: () => { question.focus(); question.select(); },
		set(route, collections) {
			question.value = route.question;
			grow();
			showCollections(collections, route.collection);
			folder.value = route.folder;
			if (route.field) fill(field, el("option", route.field));
			value.value = route.value;
			if (route.folder || route.field) filters.open = true;
			onlyIn = route.only;
			only.hidden = !onlyIn;
			fill(only, "Only in ", el("b", onlyIn.slice(17)), " ", button("Ask all documents", () => { onlyIn = ""; submit(); }));
		},
		showCollections,
	};
}
