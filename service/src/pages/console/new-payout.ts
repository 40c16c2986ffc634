/** A new payout: choose the payee, fill in the form, check the preview, send. */
import { decimalText, rawNumber } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import type { Explained } from '../../transactions/index.ts'
import { html, type Html } from '../html.ts'
import { field, hiddenField, type Problems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { pager, type Pages } from '../kit/lists.ts'
import {
  account,
  badge,
  empty,
  facts,
  inFours,
  message,
  money,
  moneyText,
  section,
  table,
  time,
  wordOf,
} from '../kit/parts.ts'
import {
  linkOf,
  page,
  pagesOf,
  queryText,
  readAmount,
  readForm,
  readQuery,
  seeOther,
  statusOf,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { payeeNameCell, type PayeeRow, payeeRowOf } from './payees.ts'
import { amountWrong, callOf, type Frame, permitted, type Person, problemsOf, type Routes } from './request.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'

type Choice = {
  readonly rows: readonly PayeeRow[]
  readonly pages: Pages
  /** The name and the path of the form. */
  readonly title: string
  readonly path: string
}

/** Lists payees as links to the form. */
export function choosePayeePage(view: ConsoleView, { rows, pages, title, path }: Choice): string {
  const p = texts[view.language].payments
  const newPayee = html`<a class="button" href="${view.root}payees/new">${p.newPayee}</a>`
  const hasWallets = rows.some(({ isWallet }) => isWallet)
  return shell(view, {
    title,
    wide: true,
    main: html`<div class="heading">
        <h1>${p.choosePayee}</h1>
        ${rows.length > 0 && newPayee}
      </div>
      <p class="lead">${p.choosePayeeText} ${hasWallets && p.tokenOnly}</p>
      ${
        rows.length === 0
          ? empty({ title: p.chooseNone, text: p.payeesEmptyText, more: html`<p class="more">${newPayee}</p>` })
          : html`${payeeTable(view, rows, path)}`
      }
      ${pager(view, pages)}`,
  })
}

function payeeTable(view: ConsoleView, rows: readonly PayeeRow[], path: string): Html {
  const p = texts[view.language].payments
  return table({
    caption: view.t.payees,
    columns: [[p.payee, 'head'], p.account, p.currency, [view.t.actions, 'actions']],
    rows: rows.map((row) => [
      payeeNameCell(row, row.name),
      html`<code class="account">${inFours(row.account)}</code>`,
      row.currency,
      row.isWallet
        ? ''
        : html`<div class="actions">
            <a class="button small" href="${linkOf(`${view.root}${path}`, { beneficiaryId: row.id })}"
              >${p.pay}<span class="away"> ${row.name}</span></a
            >
          </div>`,
    ]),
  })
}

type PayoutDraft = {
  readonly beneficiaryId: string
  readonly payee: string
  readonly payeeAccount: string
  readonly currency: string
  /** Text as the person typed it. */
  readonly amount: string
  readonly reference: string
  readonly idempotencyKey: string
  readonly problems: Problems
}

export function newPayoutPage(view: ConsoleView, draft: PayoutDraft): string {
  const p = texts[view.language].payments
  const { payee, payeeAccount, currency, amount, reference, problems } = draft
  return shell(view, {
    title: p.newPayout,
    problems,
    card: true,
    main: html`<h1>${p.newPayout}</h1>
      ${facts([
        [p.payee, payee],
        [p.account, account(view, payeeAccount)],
      ])}
      <form method="post" action="${view.root}payouts/new/preview">
        ${hiddenField('beneficiaryId', draft.beneficiaryId)} ${hiddenField('idempotencyKey', draft.idempotencyKey)}
        ${field({
          ...{ id: 'amount', name: 'amount', value: amount, error: problems['amount'] },
          label: fill(p.payoutAmount, { currency }),
          help: p.payoutAmountHelp,
          more: html`inputmode="decimal" autocomplete="off" maxlength="15"`,
        })}
        ${field({
          ...{ id: 'reference', name: 'reference', value: reference, error: problems['reference'] },
          label: fill(view.t.optional, { label: p.payoutReference }),
          help: p.payoutReferenceHelp,
          optional: true,
          more: html`autocomplete="off" maxlength="140"`,
        })}
        <button type="submit" class="primary">${p.preview}</button>
      </form>
      <p class="foot"><a href="${view.root}payouts/new">${p.otherPayee}</a></p>`,
  })
}

type Rule = {
  readonly rule: string
  readonly verdict: 'passed' | 'failed' | 'notApplicable'
  readonly code?: string | undefined
  readonly detail?: string | undefined
  readonly hold?: Explained | undefined
}

type PayoutPreview = PayoutDraft & {
  readonly fee: string
  readonly total: string
  readonly accepted: boolean
  readonly needsApproval: boolean
  readonly rail?: string | undefined
  readonly cutOffAt?: Date | undefined
  /** Days. */
  readonly valueDate?: Date | undefined
  readonly arrivesOn?: Date | undefined
  readonly rules: readonly Rule[]
}

export function payoutPreviewPage(view: ConsoleView, preview: PayoutPreview): string {
  const p = texts[view.language].payments
  const { amount, currency, payee, payeeAccount, reference, accepted, rules, problems } = preview
  const failsAtBank = accepted && rules.some(({ verdict }) => verdict === 'failed')
  return shell(view, {
    title: p.previewTitle,
    problems,
    main: html`<h1>${p.previewTitle}</h1>
      <p class="lead">${p.previewText}</p>
      ${!accepted && message('bad', p.previewRefused)} ${failsAtBank && message('warning', p.previewFails)}
      <section class="card" aria-labelledby="sum">
        <h2 id="sum" class="away">${p.payout}</h2>
        <p class="sum">${money(view, amount, currency)}</p>
        <p class="to">${payee}</p>
        <p>${account(view, payeeAccount)}</p>
        ${facts([
          [p.payoutReference, reference === '' ? undefined : reference],
          [p.fee, money(view, preview.fee, currency)],
          [p.total, money(view, preview.total, currency)],
          [p.rail, preview.rail && wordOf(p.rails, preview.rail)],
          [p.cutOff, preview.cutOffAt && time(view, preview.cutOffAt)],
          [p.valueDate, preview.valueDate && time(view, preview.valueDate, 'date')],
          [p.arrives, preview.arrivesOn && time(view, preview.arrivesOn, 'date')],
        ])}
        ${buttons(view, preview)}
      </section>
      ${section('rules', p.rules, ruleTable(view, rules))}`,
  })
}

function buttons(view: ConsoleView, preview: PayoutPreview): Html {
  const p = texts[view.language].payments
  const { beneficiaryId, amount, currency, reference, idempotencyKey, accepted, needsApproval } = preview
  const change = linkOf(`${view.root}payouts/new`, { beneficiaryId, amount, reference: reference || undefined })
  const label = fill(needsApproval ? p.sendForApproval : p.send, { amount: moneyText(view, amount, currency) })
  return html`<form method="post" action="${view.root}payouts/new/send" class="buttons">
    ${Object.entries({ beneficiaryId, amount, reference, idempotencyKey }).map(([name, value]) => hiddenField(name, value))}
    ${accepted && html`<button type="submit" class="primary">${label}</button>`}
    <a class="button" href="${change}">${p.change}</a>
  </form>`
}

const tones = { passed: 'good', failed: 'bad', notApplicable: 'neutral' } as const

/** Rules whose English text has sums that the words of the page do not have. */
const withFigures: readonly string[] = ['limit', 'funds', 'approval']

/** Explains a rule where no code does. */
function explanationOf(
  p: ConsoleTexts['payments'],
  rule: string,
  verdict: Rule['verdict'],
  detail: string | undefined,
) {
  if (verdict === 'notApplicable' || detail === undefined) return undefined
  const known: Readonly<Record<string, string>> = p.ruleExplained
  return known[`${rule}.${verdict}`]
}

function ruleTable(view: ConsoleView, rules: readonly Rule[]): Html {
  const p = texts[view.language].payments
  return table({
    caption: p.rules,
    columns: [[p.rule, 'head'], p.outcome],
    rows: rules.map(({ rule, verdict, code, detail, hold }) => {
      const [name = rule, ...scope] = rule.split('.')
      const known = code === undefined ? undefined : wordOf({ ...p.refusal, ...p.errorKey }, code)
      const held = hold && texts[view.language].holds.kinds[hold.kind].reason
      const words = held ?? (known !== code ? known : explanationOf(p, name, verdict, detail))
      const isNeeded = view.language === 'en' || words === undefined || withFigures.includes(name)
      const shown = isNeeded ? detail : undefined
      return [
        html`${wordOf(p.ruleName, name)} ${scope.length > 0 && html`<span class="soft">${scope.join(', ')}</span>`}`,
        html`<span class="lines">
          ${verdict === 'passed' && hold !== undefined ? badge('warning', p.verdict.waits) : badge(tones[verdict], p.verdict[verdict])}
          ${words !== undefined && html`<span>${words}</span>`}
          ${(hold?.by ?? null) !== null && html`<span>${texts[view.language].holds.by} ${time(view, new Date(hold?.by ?? ''))}</span>`}
          ${shown !== undefined && html`<span class="soft" lang="en">${shown}</span>`}
        </span>`,
      ]
    }),
  })
}

type Typed = Pick<PayoutDraft, 'beneficiaryId' | 'amount' | 'reference' | 'idempotencyKey'>

const fields = ['amount', 'reference'] as const

type Place = 'payouts' | 'standing-orders'

/** Lists payees, to begin the form of a place with one. */
export async function choose(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  place: Place,
): Promise<PublicAnswer> {
  const { language } = person.view
  const { cursor } = readQuery(request, ['cursor'])
  const { data, nextCursor } = await operate('listBeneficiaries', {
    ...callOf(person, request),
    query: queryText({ cursor }),
  })
  const pages = pagesOf('new', {}, cursor, nextCursor)
  const title = place === 'payouts' ? texts[language].payments.newPayout : texts[language].orders.newOrder
  const shown = { rows: data.map(payeeRowOf), pages, title, path: `${place}/new` }
  return page(request, 200, choosePayeePage({ ...person.view, current: place }, shown))
}

async function draftOf({ operate }: Frame, request: PublicRequest, person: Person, typed: Typed, problems: Problems) {
  const payee = payeeRowOf(
    await operate('getBeneficiary', { ...callOf(person, request), params: { id: typed.beneficiaryId } }),
  )
  return { ...typed, payee: payee.name, payeeAccount: payee.account, currency: payee.currency, problems }
}

export const newPayoutRoutes: Routes = (frame, _withPerson, withMoney) => {
  const { operate } = frame
  const form = async (request: PublicRequest, person: Person, typed: Typed, problems: Problems = {}) => {
    const status = statusOf(problems)
    const draft = await draftOf(frame, request, person, typed, problems)
    return page(request, status, newPayoutPage({ ...person.view, current: 'payouts' }, draft))
  }
  const begin = (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { beneficiaryId, amount = '', reference = '' } = readQuery(request, ['beneficiaryId', 'amount', 'reference'])
    if (beneficiaryId === undefined) return choose(frame, request, person, 'payouts')
    return form(request, person, { beneficiaryId, amount, reference, idempotencyKey: newId() })
  }
  /** Reads the form, and calls with the body of a payout. A refusal shows the form again, with everything that was typed. */
  const withBody = async (
    request: PublicRequest,
    person: Person,
    act: (body: object, draft: PayoutDraft) => Promise<PublicAnswer>,
  ): Promise<PublicAnswer> => {
    const p = texts[person.view.language].payments
    const given = readForm(request)
    const typed = {
      beneficiaryId: given('beneficiaryId'),
      amount: given('amount'),
      reference: given('reference').trim(),
      idempotencyKey: given('idempotencyKey') || newId(),
    }
    const amount = readAmount(typed.amount)
    if (amount === undefined) return form(request, person, typed, { amount: amountWrong(person.view, typed.amount) })
    const draft = await draftOf(frame, request, person, { ...typed, amount }, {})
    const { beneficiaryId, currency, reference, idempotencyKey } = draft
    const body = { amount: rawNumber(amount), beneficiaryId, currency, idempotencyKey, ...(reference && { reference }) }
    try {
      return await act(body, draft)
    } catch (error) {
      return form(
        request,
        person,
        typed,
        problemsOf(p, error, fields, { amount: amountWrong(person.view, typed.amount) }),
      )
    }
  }
  const preview = (request: PublicRequest, person: Person): Promise<PublicAnswer> =>
    withBody(request, person, async (body, draft) => {
      const found = await operate('previewFiatPayout', { ...callOf(person, request), body })
      const { accepted, status, rail, cutOffAt, valueDate, arrivesOn, rules } = found
      const day = (text: string | undefined) => (text === undefined ? undefined : new Date(text))
      const shown = {
        ...draft,
        amount: decimalText(found.amount),
        ...{ accepted, rail, rules },
        fee: decimalText(found.fee),
        total: decimalText(found.total),
        needsApproval: status === 'PendingApproval',
        cutOffAt: day(cutOffAt),
        valueDate: day(valueDate),
        arrivesOn: day(arrivesOn),
      }
      return page(request, 200, payoutPreviewPage({ ...person.view, current: 'payouts' }, shown))
    })
  const send = (request: PublicRequest, person: Person): Promise<PublicAnswer> =>
    withBody(request, person, async (body, { idempotencyKey, beneficiaryId }) => {
      const call = callOf(person, request)
      await operate('createFiatPayout', { ...call, body })
      // The answer of the documented operation has no id.
      const { data } = await operate('listPayouts', { ...call, query: queryText({ idempotencyKey, beneficiaryId }) })
      const [payout] = data
      return seeOther(payout === undefined ? '../../payouts' : `../${payout.id}?done=created`)
    })
  return [
    { method: 'GET', path: '/console/payouts/new', handle: permitted(withMoney, 'payouts:write', begin) },
    { method: 'POST', path: '/console/payouts/new/preview', handle: permitted(withMoney, 'payouts:write', preview) },
    { method: 'POST', path: '/console/payouts/new/send', handle: permitted(withMoney, 'payouts:write', send) },
  ]
}
