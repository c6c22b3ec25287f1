// Files that people drop on the page, or choose. Only a server with --uploads takes them, and only then is this loaded.

import { get } from "./api.js";
import { button, byId, el } from "./dom.js";
import { counted } from "./text.js";

const PAUSE = 1500; // milliseconds between two looks at whether the index is new
const LOOKS = 200;

/** Take files: say tells how it goes, and changed is called once the index holds them. */
export function takeFiles(say, changed) {
	const input = el("input", { type: "file", multiple: true, hidden: true, onchange: () => void send([...input.files]) });
	const place = el("p", { id: "files", class: "note" }, button("Add files", () => input.click()), " or drop them here.", input);
	byId("ask").append(place);
	addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); });
	addEventListener("drop", (event) => {
		if (!event.dataTransfer.files.length) return;
		event.preventDefault();
		void send([...event.dataTransfer.files]);
	});

	async function send(files) {
		const watches = async () => (await get("/v1/status")).collections.map((each) => each.watch).filter(Boolean);
		const refused = [];
		let kept = 0; // when the server had the last one
		for (const [number, file] of files.entries()) {
			say(`Sending ${file.name} (${number + 1} of ${files.length})`);
			const body = new FormData();
			body.append("file", file);
			const response = await fetch("/v1/uploads", { method: "POST", body }).catch(() => null);
			const row = await response?.json().catch(() => null);
			if (response?.ok) kept = row.time;
			else refused.push(`${file.name}: ${row?.detail ?? "the server does not answer"}`);
		}
		input.value = "";
		const sent = files.length - refused.length;
		const end = (text) => say([sent ? text : "", ...refused].filter(Boolean).join("; "));
		if (!sent || !(await watches().catch(() => [])).length) return end(`${counted(sent, "file")} sent; ask when the index holds them`);
		say(`Indexing ${counted(sent, "file")}`);
		for (let look = 0; look < LOOKS; look += 1) {
			await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
			const done = (await watches().catch(() => [])).filter((watch) => watch.begun > kept);
			if (!done.length) continue;
			const failed = done.flatMap((watch) => watch.failed).filter((line) => files.some((file) => line.includes(file.name)));
			await changed();
			return end([`${counted(Math.max(0, sent - failed.length), "file")} added`, ...failed].join("; "));
		}
		return end(`${counted(sent, "file")} sent, but not indexed yet`);
	}
}
