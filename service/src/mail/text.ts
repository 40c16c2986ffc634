/** Helpers that all templates share. */

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
export const utc = (time: Date) => `${format.format(time)} UTC`

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
