/** A table in Markdown, for pages that the service or `npm run docs` makes from tables in code. */
const row = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n')
}
