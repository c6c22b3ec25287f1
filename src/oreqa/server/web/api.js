// Requests to this server. The token is in a cookie that no script can read.

const KINDS = { 401: "login", 404: "missing", 429: "busy", 503: "busy" };

/** What went wrong: its kind, what to tell people, and the seconds until it may go better. */
const problem = (kind, detail, wait = 0) => Object.assign(new Error(detail), { kind, wait });

async function request(method, path, body, signal) {
	const content = body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
	const response = await fetch(path, { method, signal, ...content }).catch((error) => {
		if (signal?.aborted) throw error;
		throw problem("offline", "The server does not answer. It may have been stopped, or the network is down.");
	});
	const row = response.status === 204 ? null : await response.json().catch(() => null);
	if (response.ok) return row;
	const wait = Number(response.headers.get("Retry-After"));
	throw problem(KINDS[response.status], row?.detail ?? `The server answered ${response.status}.`, wait);
}

/** A path with parameters; those that are empty are left out. */
export function address(path, parameters = {}) {
	const pairs = Object.entries(parameters).filter(([, value]) => value != null && value !== "");
	return pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path;
}

export const get = (path, parameters) => request("GET", address(path, parameters));
export const post = (path, body, signal) => request("POST", path, body, signal);
export const remove = (path, parameters) => request("DELETE", address(path, parameters));
