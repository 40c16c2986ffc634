/** The plot of a balance by day: an SVG drawn by the server, its range in words, and a table. */
import { decimalText } from '@partner-payments/wire'
import { toJsonAmount } from '../../kernel/index.ts'
import type { DailyBalances } from '../../accounts/index.ts'
import { html, type Html } from '../html.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { calendarDay, formatGrouped } from '../kit/parts.ts'
import { fill } from '../language.ts'

/** Amounts are exact decimals. Only `heights` are floats, from 0 to 1. */
export type BalancePlot = {
  readonly currency: string
  /** Oldest first. */
  readonly days: readonly { readonly day: string; readonly available: string }[]
  readonly heights: readonly number[]
  readonly highest: string
  readonly lowest: string
  /** The amount at the lower edge of the drawing: zero, or the lowest amount. */
  readonly floor: string
  readonly fromZero: boolean
  readonly change: { readonly kind: 'more' | 'less' | 'same'; readonly amount: string }
}

/**
 * Resolution of the heights. Amounts are divided as integers first, because a double cannot represent the 18 digits of
 * a token.
 */
const heightSteps = 1000n
/** The drawing begins at zero if the lowest amount is less than a fifth of the highest. Otherwise the line would be flat at the top. */
const zeroBelow = 5n

/** Computes the plot of a balance. Undefined: the balance was zero on every day. */
export function createPlot({ currency, days }: DailyBalances): BalancePlot | undefined {
  const amounts = days.map(({ available }) => available)
  const [first, last] = [amounts[0] ?? 0n, amounts.at(-1) ?? 0n]
  const [lowest, highest] = amounts.reduce(
    ([low, high], amount) => [amount < low ? amount : low, amount > high ? amount : high] as const,
    [first, first] as const,
  )
  if (amounts.every((amount) => amount === 0n)) return undefined
  const fromZero = lowest >= 0n && (lowest * zeroBelow < highest || lowest === highest)
  const floor = fromZero ? 0n : lowest
  const span = highest - floor
  const heightOf = (amount: bigint) =>
    span === 0n ? 0 : Number(((amount - floor) * heightSteps) / span) / Number(heightSteps)
  const text = (amount: bigint) => decimalText(toJsonAmount(amount, currency))
  return {
    currency,
    days: days.map(({ day, available }) => ({ day, available: text(available) })),
    heights: amounts.map(heightOf),
    highest: text(highest),
    lowest: text(lowest),
    floor: text(floor),
    fromZero,
    change:
      last === first
        ? { kind: 'same', amount: text(0n) }
        : last > first
          ? { kind: 'more', amount: text(last - first) }
          : { kind: 'less', amount: text(first - last) },
  }
}

const [width, height, edge] = [600, 120, 4]

/** Draws the line of the amounts with a point for today, and fills the area below it if the drawing begins at zero. */
function drawPlot(heights: readonly number[], label: string, fromZero: boolean): Html {
  const place = (value: number) => Math.round(value * 10) / 10
  const points = heights.map((part, index) => {
    const x = heights.length === 1 ? width : (index / (heights.length - 1)) * width
    return `${place(x)} ${place(height - edge - part * (height - 2 * edge))}`
  })
  const line = `M${points.join('L')}`
  return html`<svg
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${width} ${height}"
    preserveAspectRatio="none"
    focusable="false"
  >
    ${fromZero && html`<path class="ground" d="${line}V${height}H0z" />`}
    <path class="line" d="${line}" vector-effect="non-scaling-stroke" />
    <path class="now" d="M${points.at(-1) ?? ''}h0" vector-effect="non-scaling-stroke" />
  </svg>`
}

export function balancePlot(view: ConsoleView, plot: BalancePlot): Html {
  const { t, language, locale = language } = view
  const { currency, days, heights, fromZero, change } = plot
  const [first, last] = [days[0]?.day ?? '', days.at(-1)?.day ?? '']
  const dayText = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const said = (day: string) => dayText.format(new Date(`${day}T00:00:00Z`))
  const amount = (text: string) => formatGrouped(language, text)
  const label = fill(t.plotLabel, {
    currency,
    from: said(first),
    to: said(last),
    first: amount(days[0]?.available ?? ''),
    last: amount(days.at(-1)?.available ?? ''),
    highest: amount(plot.highest),
    lowest: amount(plot.lowest),
  })
  const words = { more: t.plotMore, less: t.plotLess, same: t.plotSame }[change.kind]
  return html`<figure class="plot">
    <figcaption>
      <strong>${currency}</strong>
      <span class="soft">${fill(words, { amount: amount(change.amount), from: said(first) })}</span>
    </figcaption>
    <div class="range">
      ${drawPlot(heights, label, fromZero)}
      <p aria-hidden="true"><span>${amount(plot.highest)}</span> <span>${amount(plot.floor)}</span></p>
      <p class="ends" aria-hidden="true"><span>${said(first)}</span> <span>${said(last)}</span></p>
    </div>
    <details>
      <summary>${fill(t.plotTable, { currency })}</summary>
      ${dayTable(view, plot)}
    </details>
  </figure>`
}

/** Renders the days, newest first, in two columns, even on a narrow page. */
const dayTable = (view: ConsoleView, { currency, days }: BalancePlot): Html =>
  html`<table class="days">
    <caption class="away">
      ${fill(view.t.plotTable, { currency })}
    </caption>
    <thead>
      <tr>
        <th scope="col">${view.t.day}</th>
        <th scope="col" class="number">${view.t.available}</th>
      </tr>
    </thead>
    <tbody>
      ${days.toReversed().map(
        ({ day, available }) =>
          html`<tr>
            <th scope="row">${calendarDay(view, day)}</th>
            <td class="number"><span class="money">${formatGrouped(view.language, available)}</span></td>
          </tr> `,
      )}
    </tbody>
  </table>`
