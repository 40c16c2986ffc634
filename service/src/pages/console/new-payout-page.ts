/** The way to a new payout: choose the payee, fill in the form, check the preview, send. */
import type { Explained } from '../../transactions/index.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { badge, empty, field, hiddenField, message, table, time } from './components.ts'
import { account, facts, inFours, money, moneyText, pager, type Pages } from './lists.ts'
import { wordOf } from './payment-words.ts'
import { type PayeeRow, payeeNameCell } from './payees-page.ts'
import { linkOf, type Problems } from './payments-request.ts'
import { holdTexts } from './texts/holds.ts'
import type { PaymentTexts } from './texts/payments-en.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

type Choice = {
  readonly rows: readonly PayeeRow[]
  readonly pages: Pages
  /** The name and the path of the form. */
  readonly title: string
  readonly path: string
}

/** Lists payees as links to the form. */
export function choosePayeePage(view: ConsoleView, { rows, pages, title, path }: Choice): string {
  const p = paymentTexts[view.language]
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
  const p = paymentTexts[view.language]
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

export type PayoutDraft = {
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
  const p = paymentTexts[view.language]
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
          label: fill(p.optional, { label: p.payoutReference }),
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
  const p = paymentTexts[view.language]
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
      <section aria-labelledby="rules-title">
        <h2 id="rules-title">${p.rules}</h2>
        ${ruleTable(view, rules)}
      </section>`,
  })
}

function buttons(view: ConsoleView, preview: PayoutPreview): Html {
  const p = paymentTexts[view.language]
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
function explanationOf(p: PaymentTexts, rule: string, verdict: Rule['verdict'], detail: string | undefined) {
  if (verdict === 'notApplicable' || detail === undefined) return undefined
  const known: Readonly<Record<string, string>> = p.ruleExplained
  return known[`${rule}.${verdict}`]
}

function ruleTable(view: ConsoleView, rules: readonly Rule[]): Html {
  const p = paymentTexts[view.language]
  return table({
    caption: p.rules,
    columns: [[p.rule, 'head'], p.outcome],
    rows: rules.map(({ rule, verdict, code, detail, hold }) => {
      const [name = rule, ...scope] = rule.split('.')
      const known = code === undefined ? undefined : wordOf({ ...p.refusal, ...p.errorKey }, code)
      const held = hold && holdTexts[view.language].kinds[hold.kind].reason
      const words = held ?? (known !== code ? known : explanationOf(p, name, verdict, detail))
      const isNeeded = view.language === 'en' || words === undefined || withFigures.includes(name)
      const shown = isNeeded ? detail : undefined
      return [
        html`${wordOf(p.ruleName, name)} ${scope.length > 0 && html`<span class="soft">${scope.join(', ')}</span>`}`,
        html`<span class="lines">
          ${badge(tones[verdict], p.verdict[verdict])} ${words !== undefined && html`<span>${words}</span>`}
          ${(hold?.by ?? null) !== null && html`<span>${holdTexts[view.language].by} ${time(view, new Date(hold?.by ?? ''))}</span>`}
          ${shown !== undefined && html`<span class="soft" lang="en">${shown}</span>`}
        </span>`,
      ]
    }),
  })
}
