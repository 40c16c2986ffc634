/** A QR code as an SVG of one path. Black on white with its quiet zone, also in a dark page: scanners need that. */
import { createRequire } from 'node:module'
import type qrcode from 'qrcode'
import { html, type Html } from './html.ts'

const require = createRequire(import.meta.url)

/** ISO 18004 asks for four modules around the code. */
const quietModules = 4

export function qrCode(text: string, label: string): Html {
  // The package loads with the first code, because most processes draw none.
  const { create } = require('qrcode') as typeof qrcode
  // EPC069-12: error correction level M, version 13 at most, which 331 bytes never exceed.
  const { size, data } = create(text, { errorCorrectionLevel: 'M' }).modules
  const runs: string[] = []
  for (let row = 0; row < size; row += 1)
    for (let column = 0; column < size; column += 1) {
      const start = column
      while (column < size && data[row * size + column]) column += 1
      if (column > start)
        runs.push(`M${start + quietModules} ${row + quietModules}h${column - start}v1h-${column - start}z`)
    }
  const edge = size + 2 * quietModules
  return html`<svg
    class="qr"
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${edge} ${edge}"
    shape-rendering="crispEdges"
  >
    <path fill="#fff" d="M0 0h${edge}v${edge}H0z" />
    <path fill="#000" d="${runs.join('')}" />
  </svg>`
}
