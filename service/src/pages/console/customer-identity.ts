/** The identity verifications of a customer, and the form that starts one. */
import type { ResponseOf } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { badge, hiddenField, table, time, type Tone } from './components.ts'
import { freeText } from './lists.ts'
import { customerTexts } from './texts/customers.ts'
import { identityTexts } from './texts/identity.ts'
import { paymentTexts } from './texts/payments.ts'
import { wordOf } from './payment-words.ts'
import type { ConsoleView } from './view.ts'

export type IdentityVerification = ResponseOf<'getIdentityVerification'>
type Kind = IdentityVerification['kinds'][number]

export type Verifications = {
  readonly rows: readonly IdentityVerification[]
  /** Absent: the person may not start one, or one is not decided. */
  readonly form?: { readonly idempotencyKey: string } | undefined
}

const kindsOf: Readonly<Record<'Individual' | 'Business' | 'SoleTrader', readonly Kind[]>> = {
  Individual: ['Document', 'Address'],
  SoleTrader: ['Document', 'Address', 'Company'],
  Business: ['Company', 'Address'],
}
/** The fields of the form: one for each kind. */
export const kindFields = ['Document', 'Address', 'Company'] as const

const tones: Readonly<Record<IdentityVerification['status'], Tone>> = {
  ...{ Pending: 'neutral', Open: 'warning', Processing: 'neutral', Approved: 'good' },
  ...{ Declined: 'bad', Lapsed: 'warning', Expired: 'warning', Failed: 'bad' },
}

export const isUndecided = ({ status }: Pick<IdentityVerification, 'status'>): boolean =>
  status === 'Pending' || status === 'Open' || status === 'Processing'

export function identityPart(
  view: ConsoleView,
  { id, type }: { readonly id: string; readonly type: keyof typeof kindsOf },
  { rows, form }: Verifications,
): Html {
  const t = identityTexts[view.language]
  return html`<p class="soft">${t.text}</p>
    ${rows.length > 0 ? verificationTable(view, rows) : html`<p class="calm">${t.none}</p>`}
    ${
      form !== undefined &&
      html`<details class="more">
        <summary>${t.start}</summary>
        <p class="soft">${t.startText}</p>
        <form method="post" action="${view.root}customers/${id}/verifications">
          ${hiddenField('idempotencyKey', form.idempotencyKey)}
          ${kindsOf[type].map(
            (kind, index) =>
              html`<p class="check">
                <input type="checkbox" id="kind-${kind}" name="${kind}" value="true" ${index === 0 && html` checked`} />
                <label for="kind-${kind}">${t.kinds[kind]}</label>
              </p>`,
          )}
          <button type="submit">${t.start}</button>
        </form>
      </details>`
    }`
}

function verificationTable(view: ConsoleView, rows: readonly IdentityVerification[]): Html {
  const t = identityTexts[view.language]
  const { created } = paymentTexts[view.language]
  return table({
    caption: t.title,
    columns: [[t.kind, 'head'], t.status, t.found, created],
    rows: rows.map((row) => [
      row.kinds.map((kind) => t.kinds[kind]).join(', '),
      badge(tones[row.status], t.statuses[row.status]),
      foundIn(view, row),
      time(view, new Date(row.createdAt)),
    ]),
  })
}

/** The page of an open one, or what the provider has found. */
function foundIn(view: ConsoleView, { status, url, reason, evidence, validUntil }: IdentityVerification): Html {
  const t = identityTexts[view.language]
  const { kyc } = customerTexts[view.language]
  if (url !== undefined)
    return html`<a class="button" rel="noreferrer" href="${url}">${t.open}</a> <span class="soft">${t.openText}</span>`
  if (status === 'Pending') return html`${t.waiting}`
  const fields = evidence?.fields.map(({ field, outcome }) => `${wordOf(kyc, field)}: ${t.outcomes[outcome]}`)
  const lines = [reason && t.reasons[reason], fields?.join(', ')].filter((line) => line !== undefined && line !== '')
  return html`${freeText(lines.join(' '))}
  ${validUntil !== undefined && html`<span class="soft">${t.validUntil} ${time(view, new Date(validUntil), 'date')}</span>`}`
}
