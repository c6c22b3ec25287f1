// What is shown, as an address: /d/ID?collection=NAME#c=START-END&q=QUESTION. No browser sends what stands behind the #.

import { address } from "./api.js";

const WORDS = { question: "q", collection: "in", folder: "folder", field: "field", value: "value", only: "only" };

export function readRoute({ pathname, search, hash }) {
	const within = new URLSearchParams(hash.slice(1));
	const route = { explain: within.has("explain"), document: null };
	for (const [key, word] of Object.entries(WORDS)) route[key] = within.get(word) ?? "";
	const id = /^\/d\/([0-9a-f]{16})$/.exec(pathname)?.[1];
	if (id) {
		const [, start = 0, end = 0] = /^(\d+)-(\d+)$/.exec(within.get("c")) ?? [];
		const collection = new URLSearchParams(search).get("collection") ?? "";
		route.document = { id, collection, start: Number(start), end: Number(end) };
	}
	return route;
}

export function routeAddress({ document, explain, ...route }) {
	const within = Object.entries(WORDS).map(([key, word]) => [word, route[key]]);
	const c = document?.end && `${document.start}-${document.end}`;
	const hash = address("", { c, ...Object.fromEntries(within), explain: explain ? 1 : "" }).replace("?", "#");
	return document ? address(`/d/${document.id}`, { collection: document.collection }) + hash : `/${hash}`;
}

/** The body of a request that asks what a route says. */
export function askBody({ question, collection, only, folder, field, value }) {
	const where = {};
	if (only) where.document_id = only.slice(0, 16); // then its name
	else if (folder) where.path = folder;
	if (field && value) where[field] = value;
	return { question, where, ...(collection && { collection }) };
}

/** What two routes that ask the same have in common. */
export const askKey = (route) => JSON.stringify([askBody(route), route.explain]);
