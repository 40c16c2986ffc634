/** Logos and colours of partners. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { readFileSync } from 'node:fs'
import { png } from '../../../test/support/png.ts'
import { readPngChunks, logoBytesMax, readLogo } from './logo.ts'
import { convertLogo } from './drawn-logo.ts'
import {
  accentCss,
  contrastRatio,
  contrastProblem,
  darkAccent,
  themeColours,
  nearestReadable,
  readColour,
} from './colours.ts'

const svg = (inner: string, attributes = '') =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"${attributes}>${inner}</svg>`)
const problemOf = (bytes: Buffer): string => {
  const read = readLogo(bytes)
  return typeof read === 'string' ? read : 'none'
}

describe('logos', () => {
  test('a logo is recognised as a PNG or an SVG by its bytes', () => {
    assert.deepEqual(readLogo(png(1)), { bytes: png(1), type: 'image/png' })
    const plain = svg(
      '<defs><linearGradient id="a"><stop offset="0" stop-color="#123"/></linearGradient></defs><path style="fill:url(#a);stroke:#fff" d="M0 0h9v9z"/>',
      ' xmlns:xlink="http://www.w3.org/1999/xlink"',
    )
    assert.deepEqual(readLogo(plain), { bytes: plain, type: 'image/svg+xml' })
    const declared = Buffer.concat([
      Buffer.from('<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand -->\n'),
      svg(''),
    ])
    assert.equal(problemOf(declared), 'none')
  })

  test('a logo that is another file, damaged or too large is refused', () => {
    for (const [bytes, problem] of [
      [Buffer.alloc(0), /PNG or an SVG/],
      [Buffer.from('GIF89a'), /PNG or an SVG/],
      [Buffer.from('<html><script>alert(1)</script></html>'), /PNG or an SVG/],
      [Buffer.from('<svg><path/></svg>'), /PNG or an SVG/],
      [Buffer.from([0x3c, 0x73, 0x76, 0x67, 0xff]), /PNG or an SVG/],
      [Buffer.alloc(logoBytesMax + 1, 32), /at most 65536 bytes/],
      [png(2001), /2000 pixels/],
      [png(0), /2000 pixels/],
      [png(1).subarray(0, -1), /damaged/],
      [Buffer.concat([png(1), Buffer.from('<script>')]), /damaged/],
      [Buffer.from(png(1).fill(7, 20, 21)), /damaged/],
      [svg('<path>'), /well-formed/],
      [svg('').subarray(0, -2), /well-formed/],
    ] as const)
      assert.match(problemOf(bytes), problem)
  })

  test('a small file with too many pixels is refused if documents must decode it', () => {
    assert.deepEqual(readLogo(png(1000), 1_000_000), { bytes: png(1000), type: 'image/png' })
    assert.match(String(readLogo(png(1001, 1000), 1_000_000)), /at most 1000000 pixels, and has 1001 x 1000/)
    assert.equal(problemOf(png(2000)), 'none')
  })

  test('a logo with scripts, external references or nested copies is refused', () => {
    const entities = '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
    for (const bytes of [
      svg('<script>alert(1)</script>'),
      svg('<SCRIPT/>'),
      svg('<style>@import "https://x.example"</style>'),
      svg('<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>'),
      svg('<image href="https://x.example/a.png"/>'),
      svg('<use href="#a"/>'),
      svg('<a href="https://x.example"><path/></a>'),
      svg('<animate attributeName="href" to="javascript:alert(1)"/>'),
      svg('<path onclick="alert(1)"/>'),
      svg('', ' onload="alert(1)"'),
      svg('<linearGradient href="https://x.example#a"/>'),
      svg('<path fill="url(https://x.example#a)"/>'),
      svg('<path fill="url(#a)url(//x.example)"/>'),
      svg(String.raw`<path style="fill:u\72l(https://x.example)"/>`),
      svg('<path style="fill:image-set(&quot;https://x.example&quot;)"/>'),
      svg('<x:path xmlns:x="http://www.w3.org/1999/xhtml"/>'),
      svg('<g>'.repeat(40) + '</g>'.repeat(40)),
      Buffer.concat([Buffer.from(entities), svg('')]),
      Buffer.concat([Buffer.from('<?xml version="1.0"?>'), Buffer.from(entities), svg('<text>&b;</text>')]),
      Buffer.concat([Buffer.from('<?xml version="1.0"?><?xml-stylesheet href="https://x.example"?>'), svg('')]),
      svg('<text>&unknown;</text>'),
    ])
      assert.notEqual(problemOf(bytes), 'none', bytes.toString())
  })
})

const chunk = (name: string, data: Buffer): Buffer => {
  const [length, sum, body] = [Buffer.alloc(4), Buffer.alloc(4), Buffer.concat([Buffer.from(name), data])]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

type PngShape = { readonly width: number; readonly type: number; readonly rows: readonly (readonly number[])[] }

/** A PNG of rows that begin with their filter. */
function pngOf({ width, type, rows }: PngShape, more: readonly Buffer[] = [], [depth, interlace] = [8, 0]): Buffer {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, depth, type, 0, 0, interlace])
  head.writeUInt32BE(width)
  head.writeUInt32BE(rows.length, 4)
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  const data = chunk('IDAT', deflateSync(Buffer.from(rows.flat())))
  return Buffer.concat([signature, chunk('IHDR', head), ...more, data, chunk('IEND', Buffer.alloc(0))])
}

/** Decodes the size and the rows of pixels of a converted logo. */
async function drawn(logo: Buffer) {
  const bytes = await convertLogo(logo)
  assert.ok(bytes, 'it can be drawn')
  const chunks = [...readPngChunks(bytes)]
  assert.deepEqual([chunks.every(({ isWhole }) => isWhole), chunks.at(-1)?.end], [true, bytes.length])
  const [head, data] = [chunks[0]?.data ?? Buffer.alloc(0), chunks[1]?.data ?? Buffer.alloc(0)]
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)]
  assert.deepEqual([...head.subarray(8)], [8, 2, 0, 0, 0])
  const raw = inflateSync(data)
  assert.equal(raw.length, height * (1 + 3 * width))
  const rows = Array.from({ length: height }, (_none, row) => {
    const from = row * (1 + 3 * width)
    assert.equal(raw[from], 0)
    return [...raw.subarray(from + 1, from + 1 + 3 * width)]
  })
  return { width, height, rows }
}

describe('logos converted for documents', () => {
  test('a converted logo has the colours of every PNG colour type, on white', async () => {
    const red = [255, 0, 0]
    for (const [made, more, rows] of [
      [{ width: 2, type: 2, rows: [[0, 255, 0, 0, 1, 2, 3]] }, [], [[...red, 1, 2, 3]]],
      [{ width: 2, type: 6, rows: [[0, 255, 0, 0, 255, 0, 0, 0, 0]] }, [], [[...red, 255, 255, 255]]],
      [{ width: 1, type: 6, rows: [[0, 0, 0, 0, 51]] }, [], [[204, 204, 204]]],
      [{ width: 2, type: 0, rows: [[0, 7, 200]] }, [], [[7, 7, 7, 200, 200, 200]]],
      [{ width: 2, type: 4, rows: [[0, 7, 255, 7, 0]] }, [], [[7, 7, 7, 255, 255, 255]]],
      [
        { width: 3, type: 3, rows: [[0, 1, 0, 2]] },
        [chunk('PLTE', Buffer.from([1, 2, 3, ...red, 9, 9, 9])), chunk('tRNS', Buffer.from([255, 255, 0]))],
        [[...red, 1, 2, 3, 255, 255, 255]],
      ],
    ] as const)
      assert.deepEqual((await drawn(pngOf(made, more))).rows, rows)
  })

  test('the five row filters of PNG are undone', async () => {
    const rows = [
      [0, 10, 20, 30, 40, 50, 60],
      [1, 10, 20, 30, 1, 1, 1],
      [2, 1, 1, 1, 250, 250, 250],
      [3, 5, 5, 5, 5, 5, 5],
      [4, 1, 2, 3, 4, 5, 6],
    ]
    // By hand, from the rules of PNG, section 9.2.
    assert.deepEqual((await drawn(pngOf({ width: 2, type: 2, rows }))).rows, [
      [10, 20, 30, 40, 50, 60],
      [10, 20, 30, 11, 21, 31],
      [11, 21, 31, 5, 15, 25],
      [10, 15, 20, 12, 20, 27],
      [11, 17, 23, 16, 25, 33],
    ])
  })

  test('a large logo is scaled down to the size of the mark, and a small logo keeps its pixels', async () => {
    for (const [sides, size] of [
      [
        [1000, 1000],
        [126, 126],
      ],
      [
        [2000, 100],
        [450, 22],
      ],
      [
        [2000, 1],
        [450, 1],
      ],
      [
        [3, 2000],
        [1, 126],
      ],
      [
        [40, 30],
        [40, 30],
      ],
    ] as const)
      for (const alpha of [false, true]) {
        const { width, height } = await drawn(png(sides[0], sides[1], { alpha }))
        assert.deepEqual([width, height], size)
      }
    const stripes = Array.from({ length: 252 }, (_none, row) => [0, ...Array(252).fill(row % 2 === 0 ? 0 : 100)])
    const mean = await drawn(pngOf({ width: 252, type: 0, rows: stripes }))
    assert.deepEqual([mean.width, new Set(mean.rows.flat())], [126, new Set([50])])
  })

  test('an image that cannot be decoded is not converted', async () => {
    const made: PngShape = { width: 1, type: 2, rows: [[0, 1, 2, 3]] }
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      pngOf(made, [], [16, 0]),
      pngOf(made, [], [8, 1]),
      pngOf({ ...made, type: 3 }),
      pngOf({ ...made, type: 5 }),
      pngOf({ ...made, rows: [[5, 1, 2, 3]] }),
      pngOf({ ...made, rows: [[0, 1, 2, 3, 4]] }),
      pngOf({ ...made, width: 2 }),
      png(4, 4, { pixels: Buffer.from('no pixels') }),
      pngOf(made).subarray(0, 30),
    ])
      assert.equal(await convertLogo(bytes), undefined)
  })
})

/** A grid of all hues, and every grey. */
const sides = [0, 17, 51, 85, 119, 153, 187, 221, 255]
const hex = (...channels: readonly number[]) =>
  `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
const colours = [
  ...sides.flatMap((red) => sides.flatMap((green) => sides.map((blue) => hex(red, green, blue)))),
  ...Array.from({ length: 256 }, (_item, grey) => hex(grey, grey, grey)),
]
const themes = ['light', 'dark'] as const

const tokenOf = (css: string, name: string): readonly [string, string] => {
  const [, light = '', dark = ''] =
    new RegExp(String.raw`--${name}: light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).exec(css) ?? []
  return [light, dark]
}

describe('contrast', () => {
  test('contrast ratios agree with the examples of WCAG', () => {
    assert.equal(contrastRatio('#000000', '#ffffff'), 21)
    assert.equal(contrastRatio('#777777', '#ffffff').toFixed(2), '4.48')
    assert.equal(contrastRatio('#ffffff', '#767676').toFixed(2), '4.54')
    assert.equal(contrastRatio('#0000ff', '#0000ff'), 1)
  })

  test('a colour with too little contrast is refused with its ratio and the nearest colour that passes', () => {
    let refused = 0
    for (const theme of themes)
      for (const colour of colours) {
        const problem = contrastProblem(colour, theme)
        const isReadable = contrastRatio(colour, themeColours[theme].hardest) >= 4.5
        assert.equal(problem === undefined, isReadable, colour)
        if (problem === undefined) continue
        refused += 1
        const proposed = /passes is (#[0-9a-f]{6})$/.exec(problem)?.[1] ?? ''
        assert.equal(contrastProblem(proposed, theme), undefined, `${colour}: ${proposed}`)
        assert.ok(Number(/contrast of ([\d.]+) /.exec(problem)?.[1]) < 4.5)
        // Of the least change: the proposed colour has hardly more contrast than is needed.
        assert.ok(contrastRatio(proposed, themeColours[theme].hardest) < 4.7, `${colour}: ${proposed}`)
      }
    assert.ok(refused > 300)
  })

  test('every token derived from a colour that passes has sufficient contrast', () => {
    for (const light of colours.filter((colour) => contrastProblem(colour, 'light') === undefined)) {
      assert.equal(contrastProblem(darkAccent(light), 'dark'), undefined)
      const css = accentCss({ light })
      const tokens = ['accent', 'accent-soft', 'accent-strong', 'on-accent'].map((name) => tokenOf(css, name))
      for (const at of [0, 1]) {
        const [accent = '', soft = '', strong = '', text = ''] = tokens.map((token) => token[at] ?? '')
        for (const pair of [[accent, soft] as const, [text, accent] as const, [text, strong] as const])
          assert.ok(contrastRatio(...pair) >= 4.5, `${light}: ${pair.join(' on ')}`)
      }
    }
  })

  test('contrast is measured on the backgrounds of the style sheets that have the least contrast', () => {
    for (const site of ['console', 'checkout']) {
      const css = readFileSync(new URL(`../pages/browser/${site}.css`, import.meta.url), 'utf8')
      const [lightPart = '', darkPart = ''] = css.split('@media (prefers-color-scheme: dark)')
      for (const name of ['page', 'surface', 'raised', 'quiet', 'card']) {
        const [light, dark] = tokenOf(css, name)
        const plain = (part: string) => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(part)?.[1]
        const [lightGround, darkGround] = [light || plain(lightPart), dark || plain(darkPart)]
        if (lightGround)
          assert.ok(contrastRatio('#000000', lightGround) >= contrastRatio('#000000', themeColours.light.hardest))
        if (darkGround)
          assert.ok(contrastRatio('#ffffff', darkGround) >= contrastRatio('#ffffff', themeColours.dark.hardest))
      }
    }
  })

  test('a text other than #rrggbb is not a colour', () => {
    for (const text of ['', 'red', '#fff', '#12345g', '#1234567', ' #123456', '#123456\n;}', 'url(x)'])
      assert.equal(readColour(text), undefined)
    assert.equal(readColour('#ABCDEF'), '#abcdef')
  })

  test('a colour that passes is returned unchanged', () => {
    assert.equal(nearestReadable('#123456', 'light'), '#123456')
    assert.equal(nearestReadable('#ffffff', 'dark'), '#ffffff')
  })
})
