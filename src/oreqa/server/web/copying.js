// Answers to take along: one with its source, or all of this tab.

import { button, el } from "./dom.js";
import { certainty, said } from "./text.js";

/** “Sentence” (title, page 12, link) */
const citationOf = ({ citation, link, url }) => `${citation.replace(/\)$/, "")}, ${link ?? location.origin + url})`;

async function copy(text) {
	try {
		return await navigator.clipboard.writeText(text);
	} catch {
		// Pages without TLS have no clipboard; the old command works everywhere.
		const area = el("textarea", { class: "unseen" });
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
}

export function copyButton(row, { say }) {
	const press = async ({ currentTarget: control }) => {
		await copy(citationOf(row));
		control.focus();
		control.textContent = "Copied";
		say("Copied");
		setTimeout(() => { control.textContent = "Copy with source"; }, 2000);
	};
	return button("Copy with source", press, { "data-key": "c" });
}

export function save(name, type, text) {
	const href = URL.createObjectURL(new Blob([text], { type }));
	el("a", { href, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

/** A text in which nothing is markup. Line ends become blanks. */
const plain = (text) => text.replace(/\s+/g, " ").replace(/[\\`*_[\]<>#|~]/g, "\\$&");

export const asMarkdown = (replies) => replies.map((reply) => [
	`## ${plain(reply.question)}`,
	...reply.answers.map((answer) => `**${plain(said(answer))}** (${certainty(answer)})\n\n> ${plain(citationOf(answer))}`),
	...(reply.answers.length ? [] : ["The documents may not answer this."]),
].join("\n\n")).join("\n\n") + "\n";
