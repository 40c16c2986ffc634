/**
 * Renders when the money of a payment must arrive, what that means for a bank transfer, and what happened to late
 * money.
 */
import type { PaymentPage } from '../checkout/index.ts'
import { isSettlementDay } from '../rails/index.ts'
import { html, type Html } from './html.ts'
import { fill, fillHtml } from './language.ts'
import type { View } from './layout.ts'
import { formatAmount } from './purchase.ts'

/** TARGET days follow Central European Time. */
const targetZone = 'Europe/Brussels'

const businessDayBefore = (day: Temporal.PlainDate): Temporal.PlainDate => {
  let found = day.subtract({ days: 1 })
  while (!isSettlementDay('EUR', found)) found = found.subtract({ days: 1 })
  return found
}

/**
 * Returns the last day on which an ordinary euro transfer still arrives in time. It may arrive at any time of the next
 * business day, which must be before the day of the deadline. Undefined: that day has passed.
 */
export function lastDayToSend(expiresAt: Date, now: Date): string | undefined {
  const dayOf = (at: Date) =>
    Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(targetZone).toPlainDate()
  const send = businessDayBefore(businessDayBefore(dayOf(expiresAt)))
  return Temporal.PlainDate.compare(send, dayOf(now)) < 0 ? undefined : send.toString()
}

/** Renders the deadline. The script writes the time in the zone of the browser, and counts down the last day. */
export function deadline(view: View, { currency, expiresAt, payee }: PaymentPage, now: Date): Html {
  const { t, language } = view
  const utc = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  const time = html`<time class="local" datetime="${expiresAt.toISOString()}">${utc.format(expiresAt)} UTC</time>`
  return html`<p class="by">${fillHtml(t.payBy, { time })}</p>
    <p class="timer" data-left="${t.timeLeft}" data-over="${t.timeOver}" hidden></p>
    <p class="means">
      ${currency === 'EUR' ? euroTransferText(view, expiresAt, now) : t.sendAbroad} ${fill(t.later, { payee })}
    </p>`
}

function euroTransferText({ t, language }: View, expiresAt: Date, now: Date): string {
  const day = lastDayToSend(expiresAt, now)
  if (day === undefined) return `${t.sendInstant} ${t.onlyInstant}`
  const full = new Intl.DateTimeFormat(language, { dateStyle: 'full', timeZone: 'UTC' })
  return `${t.sendInstant} ${fill(t.sendOrdinary, { day: full.format(new Date(`${day}T00:00:00Z`)) })}`
}

const words = { waiting: 'lateWaiting', accepted: 'lateAccepted', returned: 'lateReturned' } as const

/** Renders what happened to money that did not match the payment. */
export const lateLines = (view: View, { late, payee }: PaymentPage): Html =>
  html`${late.map(
    ({ amount, currency, state }) =>
      html`<p class="late">
        ${fill(view.t[words[state]], { payee, amount: formatAmount({ amount, currency }, view) })}
      </p> `,
  )}`
