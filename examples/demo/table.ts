/** Renders a text table for a terminal. */

export type Column = { readonly title: string; readonly align?: 'right' }

const gap = '  '

export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    columns
      .map(({ align }, index) => {
        const cell = cells[index] ?? ''
        const width = widths[index] ?? 0
        return align === 'right' ? cell.padStart(width) : cell.padEnd(width)
      })
      .join(gap)
      .trimEnd()
  const rule = widths.map((width) => '-'.repeat(width)).join(gap)
  return [line(columns.map(({ title }) => title)), rule, ...rows.map(line)].join('\n')
}
