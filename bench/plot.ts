/** Draws medians as a line with min-max bars, as SVG text for light and dark pages. */

type Spot = { readonly label: string; readonly median: number; readonly min: number; readonly max: number }
export type Plot = {
  readonly title: string
  readonly xTitle: string
  readonly yTitle: string
  readonly lines: readonly { readonly name: string; readonly spots: readonly Spot[] }[]
}

const width = 640
const height = 340
const frame = { left: 72, right: 24, top: 48, bottom: 56 }
const ticksWanted = 5
const legendStep = 110
/** Colours that colour-blind readers can tell apart; each line also has its own mark. */
const style = `
    text { font: 12px system-ui, sans-serif; fill: #24292f }
    .title { font-size: 14px; font-weight: 600 }
    .grid { stroke: #d0d7de; stroke-width: 1 }
    .axis { stroke: #57606a; stroke-width: 1 }
    .line0 { stroke: #0969da } .mark0 { fill: #0969da }
    .line1 { stroke: #bc4c00 } .mark1 { fill: #bc4c00 }
    .line { fill: none; stroke-width: 2 }
    .bar { stroke-width: 1.5 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .grid { stroke: #30363d }
      .axis { stroke: #8b949e }
      .line0 { stroke: #58a6ff } .mark0 { fill: #58a6ff }
      .line1 { stroke: #f0883e } .mark1 { fill: #f0883e }
    }`

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const at = (value: number) => String(Math.round(value * 10) / 10)

/** A tick distance of 1, 2 or 5 times a power of ten. */
function stepOf(max: number): number {
  const rough = max / ticksWanted
  const power = 10 ** Math.floor(Math.log10(rough))
  return ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power
}

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${at(x)}" y="${at(y)}"${attributes && ` ${attributes}`}>${escape(content)}</text>`
}

/** Points have equal distances on the x axis, because their values grow by factors. */
export function drawPlot({ title, xTitle, yTitle, lines }: Plot): string {
  const labels = lines[0]?.spots.map(({ label }) => label) ?? []
  const max = Math.max(...lines.flatMap(({ spots }) => spots.map((spot) => spot.max)))
  const step = stepOf(max)
  const top = Math.ceil(max / step) * step
  const [right, bottom] = [width - frame.right, height - frame.bottom]
  const xOf = (index: number) => frame.left + ((index + 0.5) / labels.length) * (right - frame.left)
  const yOf = (value: number) => bottom - (value / top) * (bottom - frame.top)
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step)
  const grid = ticks.flatMap((value) => [
    `<line class="grid" x1="${frame.left}" x2="${right}" y1="${at(yOf(value))}" y2="${at(yOf(value))}"/>`,
    text(frame.left - 8, yOf(value) + 4, value.toLocaleString('en'), 'text-anchor="end"'),
  ])
  const drawn = lines.flatMap(({ name, spots }, line) => [
    ...spots.map((spot, index) => {
      const x = at(xOf(index))
      return `<line class="bar line${line}" x1="${x}" x2="${x}" y1="${at(yOf(spot.min))}" y2="${at(yOf(spot.max))}"/>`
    }),
    `<polyline class="line line${line}" points="${spots.map(({ median }, index) => `${at(xOf(index))},${at(yOf(median))}`).join(' ')}"/>`,
    ...spots.map(({ median }, index) => mark(line, xOf(index), yOf(median))),
    ...(lines.length > 1 ? legend(name, line, right - legendStep * (lines.length - line)) : []),
  ])
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `  <title>${escape(title)}</title>`,
    `  <style>${style}\n  </style>`,
    ...[
      text(frame.left, 24, title, 'class="title"'),
      text(frame.left, 40, yTitle),
      ...grid,
      `<line class="axis" x1="${frame.left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>`,
      ...labels.map((label, index) => text(xOf(index), bottom + 18, label, 'text-anchor="middle"')),
      text((frame.left + right) / 2, height - 16, xTitle, 'text-anchor="middle"'),
      ...drawn,
    ].map((line) => `  ${line}`),
    '</svg>',
    '',
  ].join('\n')
}

function mark(line: number, x: number, y: number): string {
  return line === 0
    ? `<circle class="mark${line}" cx="${at(x)}" cy="${at(y)}" r="4"/>`
    : `<rect class="mark${line}" x="${at(x - 4)}" y="${at(y - 4)}" width="8" height="8"/>`
}

const legend = (name: string, line: number, x: number) => [mark(line, x, 36), text(x + 10, 40, name)]
