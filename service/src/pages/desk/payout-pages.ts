/** The page of a payout: where it stands, what the bank and the partner have said about it, and what staff can do. */
import { field, select } from '../kit/forms.ts'
import { facts, freeText, identifier, message, money, payoutBadge, steps, strip, table, time } from '../kit/parts.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { runbookLink } from './runbooks.ts'
import { payoutTexts } from './payout-texts.ts'
import { thingParts, type ThingShown } from './thing-parts.ts'

/** A payout as `payment find` prints it. */
export type PayoutFacts = {
  readonly partnerId: string
  readonly payoutId: string
  readonly instructionId: string
  readonly endToEndId: string
  readonly reference: string
  readonly userReference: string | null
  readonly status: string
  readonly since: Date | undefined
  readonly amount: string
  readonly currency: string
  readonly sold: string | null
  readonly connector: string
  readonly attempts: number
  readonly beneficiary: string
  readonly errorKey: string | null
  readonly errorDetails: string | null
  readonly timeline: readonly {
    readonly step: string
    readonly createdAt: Date | string
    /** The bank's code, and its own words. */
    readonly reason?: string
    readonly bankText?: string
  }[]
  readonly hits: readonly { readonly id: string; readonly status: string; readonly openedAt: Date }[]
  readonly next: string
  /** Undefined: it does not wait. */
  readonly partnerReads: string | undefined
  /** The path of the runbook in the repository, with the section of the status. */
  readonly runbook: string
}

/** A payment as `bank payment` prints it. */
export type BankFacts = {
  readonly status: string
  readonly attempt: number
  readonly schemeApplied: string
  readonly reasonCode: string | null
  readonly fileId: string | null
  readonly file: { readonly messageId: string; readonly name: string; readonly state: string } | null
  readonly settledAt: Date | null
  readonly missingSince: Date | null
  readonly recall: { readonly status: string } | null
}

export const paymentOutcomes = ['paid', 'not-paid'] as const

export type PayoutShown = {
  readonly payout: PayoutFacts
  readonly bank: BankFacts | undefined
  /** Undefined: it needed none. */
  readonly approval:
    | { readonly decision: string | null; readonly by: string | null; readonly at: Date | null }
    | undefined
  readonly cases: readonly {
    readonly partnerId: string
    readonly id: string
    readonly kind: string
    readonly openedAt: Date
    readonly resolution: string | null
  }[]
  readonly thing: ThingShown
  readonly mayAct: boolean
  readonly said?: 'waits' | 'retried' | undefined
  readonly error?: string | undefined
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: (name: string) => string
}

export function payoutPage(view: ConsoleView, shown: PayoutShown): string {
  const d = payoutTexts[view.language]
  const { payout, bank, said, error } = shown
  const title = fill(d.payout, { reference: payout.userReference ?? payout.reference })
  return shell(view, {
    title,
    wide: true,
    problems: { form: error },
    main: html`<h1>${title}</h1>
      ${said === 'retried' && message('good', d.retried)}
      ${
        said === 'waits' &&
        html`${message('good', d.waits)}
          <p><a class="button" href="${view.root}changes">${d.changes}</a></p>`
      }
      <p class="lead">${d.text}</p>
      ${strip([
        [d.amount, money(view, payout.amount, payout.currency)],
        [d.status, payoutBadge(view, payout.status)],
        [d.since, payout.since === undefined ? '–' : time(view, new Date(payout.since))],
        [d.attempts, String(payout.attempts)],
      ])}
      <h2>${d.next}</h2>
      <p>${payout.next}</p>
      ${payout.partnerReads !== undefined && html`<p>${fill(d.partnerReads, { reason: payout.partnerReads })}</p>`}
      ${factsOf(view, payout)}
      <h2>${d.timeline}</h2>
      ${steps(
        view,
        payout.timeline.map(({ step, createdAt, reason, bankText }) => ({
          title: step,
          at: new Date(createdAt),
          detail: [reason, bankText && fill(d.bankSays, { text: bankText })].filter(Boolean).join(' ') || undefined,
        })),
      )}
      <h2>${d.atBank}</h2>
      ${bank === undefined ? message('neutral', d.atBankNone) : bankFacts(view, bank)} ${partnerFacts(view, shown)}
      ${casesOf(view, shown)} ${payout.hits.length > 0 && hitsOf(view, payout)}
      ${thingParts(view, shown.thing, shown.typed)} ${acting(view, shown)}`,
  })
}

function factsOf(view: ConsoleView, payout: PayoutFacts): Html {
  const d = payoutTexts[view.language]
  const { partnerId, errorKey, errorDetails } = payout
  return facts([
    [d.partner, html`<a href="${view.root}partners/${partnerId}">${partnerId}</a>`],
    [d.payoutId, identifier(view, payout.payoutId, d.payoutId)],
    [d.serviceReference, identifier(view, payout.reference, d.serviceReference)],
    [d.instruction, identifier(view, payout.instructionId, d.instruction)],
    [d.endToEndId, identifier(view, payout.endToEndId, d.endToEndId)],
    [d.beneficiary, freeText(payout.beneficiary)],
    [d.connector, payout.connector],
    [d.sold, payout.sold ?? undefined],
    [d.error, errorKey === null ? undefined : freeText([errorKey, errorDetails ?? ''].join(' ').trim())],
    [d.runbook, runbookLink(view, payout.runbook.replaceAll(/^docs\/runbooks\/|\.md/g, ''))],
  ])
}

function bankFacts(view: ConsoleView, bank: BankFacts): Html {
  const d = payoutTexts[view.language]
  const { file, fileId, settledAt, missingSince } = bank
  return facts([
    [d.bankStatus, bank.status],
    [d.scheme, bank.schemeApplied],
    [d.reason, bank.reasonCode ?? undefined],
    [
      d.file,
      file === null ? undefined : html`<a href="${view.root}files/${fileId ?? ''}">${file.name}</a> ${file.state}`,
    ],
    [d.settledAt, settledAt === null ? undefined : time(view, new Date(settledAt))],
    [d.missingSince, missingSince === null ? undefined : time(view, new Date(missingSince))],
    [d.recall, bank.recall?.status],
  ])
}

function partnerFacts(view: ConsoleView, { approval, payout }: PayoutShown): Html {
  const d = payoutTexts[view.language]
  const decided =
    approval === undefined
      ? d.approvalNone
      : approval.decision === null || approval.at === null
        ? d.approvalOpen
        : html`${approval.decision}, ${freeText(approval.by ?? '')}, ${time(view, approval.at)}`
  return html`<h2>${d.approval}</h2>
    <p>${decided}</p>
    <p><a href="${view.root}partners/${payout.partnerId}">${d.rules}</a></p>`
}

function casesOf(view: ConsoleView, { cases }: PayoutShown): Html {
  const d = payoutTexts[view.language]
  if (cases.length === 0)
    return html`<h2>${d.cases}</h2>
      ${message('neutral', d.casesNone)}`
  return html`<h2>${d.cases}</h2>
    ${table({
      caption: d.cases,
      columns: [[d.kind, 'head'], d.opened, d.resolution],
      rows: cases.map(({ partnerId, id, kind, openedAt, resolution }) => [
        html`<a href="${view.root}cases/${partnerId}/${id}">${kind}</a>`,
        time(view, openedAt),
        resolution ?? d.open,
      ]),
    })}`
}

function hitsOf(view: ConsoleView, { hits, partnerId }: PayoutFacts): Html {
  const d = payoutTexts[view.language]
  return html`<h2>${d.hits}</h2>
    ${table({
      caption: d.hits,
      columns: [[d.hit, 'head'], d.status, d.opened],
      rows: hits.map(({ id, status, openedAt }) => [
        html`<a href="${view.root}hits/${partnerId}/${id}">${id}</a>`,
        status,
        time(view, new Date(openedAt)),
      ]),
    })}`
}

/** Statuses in which the worker makes a further attempt. */
const retried: ReadonlySet<string> = new Set(['Pending', 'Processing'])

function acting(view: ConsoleView, { payout, mayAct, typed }: PayoutShown): Html | undefined {
  const d = payoutTexts[view.language]
  const mayRetry = retried.has(payout.status)
  const mayEnd = payout.status === 'Sent'
  if (!mayRetry && !mayEnd) return undefined
  if (!mayAct)
    return html`<h2>${d.actions}</h2>
      ${message('neutral', d.readOnly)}`
  const action = (name: string) => `${view.root}payouts/${payout.partnerId}/${payout.payoutId}/${name}`
  const outcomes = paymentOutcomes.map((each) => [each, d[each]] as const)
  const text = (name: 'document' | 'digest' | 'note', more: Html, help?: string) =>
    field({ id: name, name, label: d[name], value: typed(name), more, ...(help === undefined ? {} : { help }) })
  return html`<h2>${d.actions}</h2>
    ${
      mayRetry &&
      html`<form method="post" action="${action('retry')}">
        <p>${d.retryText}</p>
        <button type="submit">${d.retry}</button>
      </form>`
    }
    ${
      mayEnd &&
      html`<h3>${d.end}</h3>
        <form method="post" action="${action('end')}">
          <p>${d.endText}</p>
          ${select({ id: 'outcome', name: 'outcome', label: d.outcome, value: typed('outcome'), any: d.choose, options: outcomes })}
          ${text('document', html`maxlength="140"`)}
          ${text('digest', html`maxlength="64" autocomplete="off" spellcheck="false"`, d.digestHelp)}
          ${text('note', html`maxlength="500"`)}
          <button type="submit" class="danger">${d.propose}</button>
        </form>`
    }`
}
