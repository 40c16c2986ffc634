import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { accentCss, contrastOf, contrastProblem, darkOf, grounds, nearestWith, readColour } from './colours.ts'

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
  test('agrees with the examples of WCAG', () => {
    assert.equal(contrastOf('#000000', '#ffffff'), 21)
    assert.equal(contrastOf('#777777', '#ffffff').toFixed(2), '4.48')
    assert.equal(contrastOf('#ffffff', '#767676').toFixed(2), '4.54')
    assert.equal(contrastOf('#0000ff', '#0000ff'), 1)
  })

  test('is refused with its ratio and a colour that passes by little', () => {
    let refused = 0
    for (const theme of themes)
      for (const colour of colours) {
        const problem = contrastProblem(colour, theme)
        const isReadable = contrastOf(colour, grounds[theme].hardest) >= 4.5
        assert.equal(problem === undefined, isReadable, colour)
        if (problem === undefined) continue
        refused += 1
        const proposed = /passes is (#[0-9a-f]{6})$/.exec(problem)?.[1] ?? ''
        assert.equal(contrastProblem(proposed, theme), undefined, `${colour}: ${proposed}`)
        assert.ok(Number(/contrast of ([\d.]+) /.exec(problem)?.[1]) < 4.5)
        // Of the least change: the proposed colour has hardly more contrast than is needed.
        assert.ok(contrastOf(proposed, grounds[theme].hardest) < 4.7, `${colour}: ${proposed}`)
      }
    assert.ok(refused > 300)
  })

  test('holds for every token that is derived of a colour which passes', () => {
    for (const light of colours.filter((colour) => contrastProblem(colour, 'light') === undefined)) {
      assert.equal(contrastProblem(darkOf(light), 'dark'), undefined)
      const css = accentCss({ light })
      const tokens = ['accent', 'accent-soft', 'accent-strong', 'on-accent'].map((name) => tokenOf(css, name))
      for (const at of [0, 1]) {
        const [accent = '', soft = '', strong = '', text = ''] = tokens.map((token) => token[at] ?? '')
        for (const pair of [[accent, soft] as const, [text, accent] as const, [text, strong] as const])
          assert.ok(contrastOf(...pair) >= 4.5, `${light}: ${pair.join(' on ')}`)
      }
    }
  })

  test('is measured on the hardest grounds of the style sheets', () => {
    for (const site of ['console', 'checkout']) {
      const css = readFileSync(new URL(`../pages/browser/${site}.css`, import.meta.url), 'utf8')
      const [lightPart = '', darkPart = ''] = css.split('@media (prefers-color-scheme: dark)')
      for (const name of ['page', 'surface', 'raised', 'quiet', 'card']) {
        const [light, dark] = tokenOf(css, name)
        const plain = (part: string) => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(part)?.[1]
        const [lightGround, darkGround] = [light || plain(lightPart), dark || plain(darkPart)]
        if (lightGround) assert.ok(contrastOf('#000000', lightGround) >= contrastOf('#000000', grounds.light.hardest))
        if (darkGround) assert.ok(contrastOf('#ffffff', darkGround) >= contrastOf('#ffffff', grounds.dark.hardest))
      }
    }
  })

  test('is not measured of other texts than #rrggbb', () => {
    for (const text of ['', 'red', '#fff', '#12345g', '#1234567', ' #123456', '#123456\n;}', 'url(x)'])
      assert.equal(readColour(text), undefined)
    assert.equal(readColour('#ABCDEF'), '#abcdef')
  })

  test('a colour that passes is its own nearest one', () => {
    assert.equal(nearestWith('#123456', 'light'), '#123456')
    assert.equal(nearestWith('#ffffff', 'dark'), '#ffffff')
  })
})
