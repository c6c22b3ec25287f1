// Texts, and offsets of the server, which count code points where JavaScript counts UTF-16 units.

import { el } from "./dom.js";

const HALVES = /[\ud800-\udfff]/;
const WRAPS = /(?<=[^\n|]{40})\n(?=\p{Ll})|(?<=[^\n|]{39}[^\n|.!?:;])\n(?=\p{L})/gu;
const WRAPPED = /\.(pdf|txt|text|md|markdown|rst|eml|msg|rtf)(#|$)/i;

/** Characters from..to of a text. */
export const cut = (text, from, to) => (HALVES.test(text) ? [...text].slice(from, to).join("") : text.slice(from, to));

export const characters = (text) => (HALVES.test(text) ? [...text].length : text.length);

/** The sentences of a passage, in the document's characters. */
export function sentencesOf(passage) {
	let { start } = passage;
	return [...new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(passage.text)].flatMap(({ segment }) => {
		const text = segment.trim();
		const begin = start + characters(segment.slice(0, segment.indexOf(text)));
		start += characters(segment);
		return text ? [{ text, start: begin, end: begin + characters(text) }] : [];
	});
}

/** Join the lines that a file of this name wraps: line ends become blanks, so no offset moves. */
export const unwrapped = (text, name) => (WRAPPED.test(name) ? text.replace(WRAPS, " ") : text);

/** Characters from..to of a passage as nodes: marks in <mark>, what is outside of the sentences quieter. */
export function quoted(passage, name, from, to, marks, sentences) {
	const text = unwrapped(passage.text, name);
	const within = (ranges, place) => ranges.some(({ start, end }) => start <= place && place < end);
	const edges = [...marks, ...(sentences || [])].flatMap(({ start, end }) => [start, end]).filter((edge) => from < edge && edge < to);
	const places = [from, ...new Set(edges), to].sort((a, b) => a - b);
	return places.slice(0, -1).map((place, n) => {
		const piece = cut(text, place - passage.start, places[n + 1] - passage.start);
		const kind = within(marks, place) ? "mark" : sentences && !within(sentences, place) ? "span" : null;
		return kind ? el(kind, piece) : piece;
	});
}

export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** A share, rounded down: it does not contradict "sure". */
export const percent = (share) => `${Math.floor(100 * share + 1e-9)}%`;

export const certainty = ({ certainty: word, confidence }) => (confidence == null ? word : `${word}, ${percent(confidence)}`);

export const said = ({ form, block, whole_text: text }) =>
	form === "block" ? block.pieces.map((row) => row.text).join("\n") : text;

export const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

export const lastOf = (path) => path.split(" > ").at(-1);

export const fileName = (key) => key.split(/[/\\]/).at(-1);

/** "page 12", "slide 3": the name of a passage's place, if it has one that people read. */
export const placeName = ({ place: { name } }) => (name?.startsWith("#") ? "" : name);

/** Where a text stands: "contract.pdf, page 12". */
export function placeOf(row) {
	const name = fileName(row.document);
	const where = placeName(row) || row.heading || (row.place.line ? `line ${row.place.line}` : name);
	return [...new Set([row.title || name, where])].join(", ");
}
