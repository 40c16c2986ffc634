import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { png } from '../../../test/support/png.ts'
import { logoBytesMax, readLogo } from './logo.ts'

const svg = (inner: string, attributes = '') =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"${attributes}>${inner}</svg>`)
const problemOf = (bytes: Buffer): string => {
  const read = readLogo(bytes)
  return typeof read === 'string' ? read : 'none'
}

describe('a logo', () => {
  test('is a PNG or an SVG by its bytes', () => {
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

  test('is refused if it is another file, damaged or too large', () => {
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

  test('of few bytes and many pixels is refused where it is decoded', () => {
    assert.deepEqual(readLogo(png(1000), 1_000_000), { bytes: png(1000), type: 'image/png' })
    assert.match(String(readLogo(png(1001, 1000), 1_000_000)), /at most 1000000 pixels, and has 1001 x 1000/)
    assert.equal(problemOf(png(2000)), 'none')
  })

  test('is refused if it could run, load or grow', () => {
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
