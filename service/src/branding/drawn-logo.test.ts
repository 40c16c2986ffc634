import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { png } from '../../../test/support/png.ts'
import { drawnLogo } from './drawn-logo.ts'
import { chunksOf } from './logo.ts'

const chunk = (name: string, data: Buffer): Buffer => {
  const [length, sum, body] = [Buffer.alloc(4), Buffer.alloc(4), Buffer.concat([Buffer.from(name), data])]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

type Made = { readonly width: number; readonly type: number; readonly rows: readonly (readonly number[])[] }

/** A PNG of rows that begin with their filter. */
function pngOf({ width, type, rows }: Made, more: readonly Buffer[] = [], [depth, interlace] = [8, 0]): Buffer {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, depth, type, 0, 0, interlace])
  head.writeUInt32BE(width)
  head.writeUInt32BE(rows.length, 4)
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  const data = chunk('IDAT', deflateSync(Buffer.from(rows.flat())))
  return Buffer.concat([signature, chunk('IHDR', head), ...more, data, chunk('IEND', Buffer.alloc(0))])
}

/** The size and the pixels of a drawn logo, by rows. */
async function drawn(logo: Buffer) {
  const bytes = await drawnLogo(logo)
  assert.ok(bytes, 'it can be drawn')
  const chunks = [...chunksOf(bytes)]
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

describe('a drawn logo', () => {
  test('has the colours of each form of PNG, on white', async () => {
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

  test('undoes the five filters of rows', async () => {
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

  test('has at most the pixels of the mark, whatever the logo has, and keeps those of a small one', async () => {
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

  test('is none for a picture that cannot be decoded', async () => {
    const made: Made = { width: 1, type: 2, rows: [[0, 1, 2, 3]] }
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
      assert.equal(await drawnLogo(bytes), undefined)
  })
})
