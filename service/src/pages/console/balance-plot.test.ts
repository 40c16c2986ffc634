import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evil, tags, viewOf } from '../../../../test/support/console-pages.ts'
import type { DailyBalances } from '../../accounts/index.ts'
import { balancePlot, type BalancePlot, createPlot } from './balance-plot.ts'

const balanceOf = (currency: DailyBalances['currency'], amounts: readonly bigint[]): DailyBalances => ({
  currency,
  days: amounts.map((available, index) => ({ day: `2026-11-${String(index + 1).padStart(2, '0')}`, available })),
})

const drawn = (plot: BalancePlot | undefined, language: 'en' | 'de' = 'en') => {
  assert.ok(plot)
  return balancePlot(viewOf(language), plot).html
}

test('amounts are exact, including amounts that a double cannot represent', () => {
  const plot = createPlot(balanceOf('EUR', [900_719_925_474_099_301n, 900_719_925_474_099_303n]))
  assert.deepEqual(
    plot?.days.map(({ available }) => available),
    ['9007199254740993.01', '9007199254740993.03'],
  )
  assert.deepEqual(plot?.change, { kind: 'more', amount: '0.02' })
  const page = drawn(plot)
  assert.ok(page.includes('9,007,199,254,740,993.03'), page)
})

test('the drawing begins at zero, or at the lowest amount if a line from zero would be flat', () => {
  const shapes = [
    { amounts: [0n, 100n, 50n], heights: [0, 1, 0.5], fromZero: true },
    { amounts: [19n, 100n], heights: [0.19, 1], fromZero: true },
    { amounts: [900n, 1000n, 950n], heights: [0, 1, 0.5], fromZero: false },
    { amounts: [500n, 500n], heights: [1, 1], fromZero: true },
    // The order of ids is not that of commits, so the sum before a moment can be below zero.
    { amounts: [-50n, 50n], heights: [0, 1], fromZero: false },
    { amounts: [-50n, -50n], heights: [0, 0], fromZero: false },
  ]
  for (const { amounts, ...expected } of shapes) {
    const plot = createPlot(balanceOf('EUR', amounts))
    assert.deepEqual({ heights: plot?.heights, fromZero: plot?.fromZero }, expected, String(amounts))
  }
})

test('a balance that was empty on all days has no plot', () => {
  assert.equal(createPlot(balanceOf('EUR', [0n, 0n, 0n])), undefined)
  assert.equal(createPlot(balanceOf('EUR', [])), undefined)
})

test('the label states the range in words, and the table has each day, newest first', () => {
  const plot = createPlot(balanceOf('EUR', [100_000n, 250_000n, 75_050n]))
  const english = drawn(plot)
  assert.ok(
    english.includes(
      'aria-label="EUR: 1,000.00 available on Nov 1, 2026, 750.50 on Nov 3, 2026. Highest 2,500.00, lowest 750.50."',
    ),
    english,
  )
  assert.ok(english.includes('249.50 less than on Nov 1, 2026'), english)
  const german = drawn(plot, 'de')
  assert.ok(
    german.includes(
      'aria-label="EUR: 1.000,00 verfügbar am 01.11.2026, 750,50 am 03.11.2026. Höchster Stand 2.500,00, niedrigster 750,50."',
    ),
    german,
  )
  assert.ok(german.includes('249,50 weniger als am 01.11.2026'), german)
  const days = [...english.matchAll(/<time datetime="([^"]*)"/g)].map(([, day]) => day)
  assert.deepEqual(days, ['2026-11-03', '2026-11-02', '2026-11-01'])
  assert.equal(tags(english, 'svg').length, 1)
  assert.match(tags(english, 'svg')[0] ?? '', /role="img"/)
})

test('a plot has no inline style and escapes its texts', () => {
  const plot = createPlot(balanceOf('EUR', [1n, 2n]))
  assert.ok(plot)
  const page = balancePlot(viewOf('en'), { ...plot, currency: evil }).html
  assert.ok(!page.includes('<img') && !/ style=|<style/.test(page), page)
})
