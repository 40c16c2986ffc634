/** Helpers that all templates share. */

/** Made for the first mail: it costs every start some 30 ms, and most processes write no mails. */
let format: Intl.DateTimeFormat | undefined
export function utc(time: Date): string {
  format ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return `${format.format(time)} UTC`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character] ?? character)

/** Takes paragraphs of HTML: plain text must be escaped before. */
export const htmlPage = (paragraphs: readonly string[]) =>
  `<!doctype html>\n<html lang="en">\n<body>\n${paragraphs.map((each) => `<p>${each}</p>`).join('\n')}\n</body>\n</html>\n`
