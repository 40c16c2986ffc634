/**
 * The page of a case: what happened, the parties, the held money, and the effect of each decision. A person chooses an
 * action, then fills in its form.
 */
import {
  type CaseAction,
  type CaseReport,
  type CaseRow,
  possibleDispositions,
  operatorPartnerId,
} from '../../cases/index.ts'
import { amountText } from '../../kernel/index.ts'
import type { StaffRole } from '../../people/staff/index.ts'
import {
  badge,
  facts,
  freeText,
  identifier,
  links,
  message,
  money,
  moneyText,
  summaryStrip,
  table,
  time,
  payoutBadge,
} from '../kit/parts.ts'
import { hiddenField, postButton } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { noteField, optionField, valueLabel } from './forms.ts'
import { customerHref, paymentHref, titledTable } from './parties.ts'
import { actorText, precedingDecision, decidersText, kindName, noteText, reportFacts, caseRunbook } from './kinds.ts'
import type { FormOption } from './request.ts'
import { deskTexts } from './texts.ts'
import { findButton, ownerSection, runbookLink } from './things.ts'

type MoneySum = { readonly currency: string; readonly amount: bigint }
export type AlertPayouts = {
  readonly waiting: bigint
  readonly left: bigint
  readonly ended: bigint
  readonly sums: readonly MoneySum[]
  readonly payments: readonly (MoneySum & {
    readonly reference: string
    readonly createdAt: Date
    /** Undefined if no payout has the reference. */
    readonly payoutId: string | undefined
    readonly payee: string | undefined
  })[]
}

type Person = { readonly id: string; readonly fullName: string; readonly role: StaffRole }
/** Results of a form that the page reports. */
export const caseSteps = ['proposed', 'approved', 'closed', 'rejected', 'recalled'] as const
export type CaseStep = (typeof caseSteps)[number]

type CaseDetails = {
  readonly row: CaseRow
  readonly report: CaseReport
  /** Empty if the partner of the money is unknown. */
  readonly partnerName: string
  readonly proposal: {
    readonly id: string
    readonly action: CaseAction
    readonly note: string
    readonly disposition: string | undefined
    readonly isOwn: boolean
  } | null
  readonly decisions: readonly {
    readonly at: Date
    readonly actor: string
    readonly kind: string
    readonly note: string
    /** Payouts that a refusal stopped, and payouts that were already sent. Null for other steps. */
    readonly stopped: number | null
    readonly alreadySent: number | null
  }[]
  readonly actions: readonly CaseAction[]
  /** The action whose form is shown. */
  readonly chosen: CaseAction | undefined
  readonly options: readonly FormOption[]
  /** The payouts of an alert. Null for other kinds of cases. */
  readonly standing: AlertPayouts | null
  readonly hits: readonly { readonly partnerId: string; readonly id: string; readonly listedName: string }[]
  readonly file: { readonly id: string; readonly name: string } | undefined
  readonly candidates: readonly ListedCandidate[]
  readonly related: readonly RelatedCase[]
  readonly refunds: readonly ListedRefund[]
  readonly mayRecall: boolean
  readonly people: readonly Person[]
  readonly readerId: string
  readonly roles: readonly StaffRole[]
  readonly mayDecide: boolean
  readonly said?: CaseStep | undefined
  readonly error?: string | Html
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: (name: string) => string
}
export type CaseView = CaseDetails

const caseMoney = (view: ConsoleView, { booked, currency }: Pick<CaseRow, 'booked' | 'currency'>): Html | undefined =>
  booked === null || currency === null ? undefined : money(view, amountText(booked, currency), currency)

type CaseSubject = Pick<CaseRow, 'kind' | 'booked'>
/** Returns the verb for an action, with the number of payouts. `waiting`: undefined if they were not counted. */
export function actionVerb(view: ConsoleView, action: CaseAction, { kind }: CaseSubject, waiting?: bigint): string {
  const { verbs, cases: d } = deskTexts[view.language]
  if (action === 'note') return kind === 'safeguarding' ? verbs.closeDay : verbs.note
  if (action !== 'release' && action !== 'refuse') return verbs[action]
  const count = kind === 'sanctions_hold' ? 1n : waiting
  const forms =
    action === 'release'
      ? { any: verbs.releaseAny, none: verbs.releaseNone, one: verbs.releaseOne, many: verbs.release }
      : { any: verbs.refuseAny, none: verbs.refuseAny, one: verbs.refuseOne, many: verbs.refuse }
  if (count === undefined) return forms.any
  if (count < 2n) return count === 1n ? forms.one : forms.none
  return fill(forms.many, { payouts: fill(d.payouts, { count: String(count) }) })
}

function actionEffect(
  view: ConsoleView,
  action: CaseAction,
  { kind, booked }: CaseSubject,
  standing: AlertPayouts | null,
): string {
  const { effects: e } = deskTexts[view.language]
  const cameIn = booked !== null && booked > 0n
  const left =
    standing === null || standing.left === 0n ? '' : ` ${fill(e.notReached, { left: String(standing.left) })}`
  switch (action) {
    case 'match':
      return cameIn ? e.matchIn : e.matchOut
    case 'fees':
      return cameIn ? e.feesIn : e.feesOut
    case 'write-off':
      return cameIn ? e.writeOffIn : e.writeOffOut
    case 'note':
      return kind === 'safeguarding' ? e.closeDay : e.note
    case 'release':
      return `${standing?.waiting === 0n ? e.releaseNone : e.release}${left}`
    case 'refuse':
      return kind === 'sanctions_hold' ? e.refuseHeld : `${e.refuse}${left}`
    default:
      return e[action]
  }
}

export function casePage(view: ConsoleView, shown: CaseDetails): string {
  const { cases: c, queue: d, kindTexts } = deskTexts[view.language]
  const { row, report, error, decisions, candidates, related, standing } = shown
  const name = kindName(view, row.kind)
  const known = reportFacts(view, row.kind, report, (text) => view.root + paymentHref(row.partnerId, text))
  return shell(view, {
    title: name,
    wide: true,
    problems: { form: error },
    main: html`<h1>${name}</h1>
      ${stepMessage(view, shown)}
      <p class="lead">${kindTexts[row.kind]}</p>
      ${summaryStrip([
        [d.money, (caseMoney(view, row) ?? (standing && sumsText(view, standing))) || '–'],
        [d.partner, partnerCell(view, row.partnerId, shown.partnerName)],
        [d.opened, time(view, row.openedAt)],
        [d.runbook, runbookLink(view, caseRunbook(row.kind))],
      ])}
      <h2>${c.held}</h2>
      ${heldPart(view, shown)}
      ${standing !== null && row.resolution === null && payoutsTable(view, row.partnerId, standing)}
      ${known.some(([, value]) => value !== undefined) && html`<h2>${c.parties}</h2>`}
      ${facts([...known, ...subjectLinks(view, shown)])}
      ${row.resolution === null ? decisionPart(view, shown) : endedPart(view, row)}
      ${row.booked !== null && row.resolution === null && candidateTable(view, row, candidates)}
      ${refundTable(view, shown)} ${relatedTable(view, related)}
      ${
        row.resolution === null &&
        ownerSection(view, {
          ...{ owner: row.ownerId === null ? null : { id: row.ownerId, fullName: row.ownerName ?? '' }, words: d },
          ...{ people: shown.people, readerId: shown.readerId, typed: shown.typed },
          action: (step) => `${view.root}cases/${row.partnerId}/${row.id}/${step}`,
        })
      }
      ${historyTable(view, decisions)}
      <details class="raw">
        <summary>${c.raw}</summary>
        <pre tabindex="0"><code>${JSON.stringify(report, null, 2)}</code></pre>
      </details>`,
  })
}

function partnerCell(view: ConsoleView, partnerId: string, name: string): Html | string {
  return partnerId === operatorPartnerId
    ? '–'
    : html`<a href="${view.root}partners/${partnerId}">${name === '' ? partnerId : name}</a>`
}

/** Renders the message about the result of the last form, and about what is still pending. */
function stepMessage(view: ConsoleView, { said, row, proposal, standing }: CaseDetails): Html | undefined {
  const { cases: c } = deskTexts[view.language]
  if (said === 'recalled') return message('good', c.saidRecalled)
  if (said === 'rejected' && proposal === null) return message('good', c.saidRejected)
  if (said === 'closed' && row.resolution !== null) return message('good', c.saidClosed)
  if (said === 'proposed' && proposal !== null)
    return message('good', fill(c.saidProposed, { verb: actionVerb(view, proposal.action, row, standing?.waiting) }))
  if (said !== 'approved') return undefined
  const action = resolvingAction(row)
  return message(
    'good',
    fill(c.saidApproved, { effect: action ? actionEffect(view, action, row, null) : c.heldReturning }),
  )
}

const resolvingAction = ({ resolution }: CaseRow): CaseAction | undefined => {
  const actions: Readonly<Record<string, CaseAction>> = {
    ...{ matched: 'match', credited: 'credit', booked_to_fees: 'fees', reversed: 'reverse', charged: 'charge' },
    ...{ announced: 'announced', written_off: 'write-off', noted: 'note', released: 'release', refused: 'refuse' },
  }
  return resolution === null ? undefined : actions[resolution]
}

function heldPart(view: ConsoleView, { row, standing }: CaseDetails): Html {
  const { cases: c } = deskTexts[view.language]
  const { kind, booked, currency, connector, resolution, returningSince } = row
  const say = (text: string) => html`<p>${text}</p>`
  if (resolution !== null) return say(c.heldNone)
  if (returningSince !== null) return say(c.heldReturning)
  if (booked !== null && currency !== null) {
    const amount = moneyText(view, amountText(booked > 0n ? booked : -booked, currency), currency)
    return say(fill(booked > 0n ? c.heldIn : c.heldOut, { money: amount, connector }))
  }
  if (kind === 'sanctions_hold') return say(c.heldPayout)
  if (standing === null || standing.waiting === 0n)
    return html`${say(c.heldNone)} ${standing !== null && leftPart(view, standing)}`
  const sums = sumsText(view, standing)
  const payouts = standing.waiting === 1n ? c.payoutsOne : fill(c.payouts, { count: String(standing.waiting) })
  return html`${say(fill(c.heldPayouts, { payouts, money: sums }))} ${leftPart(view, standing)}`
}

const sumsText = (view: ConsoleView, { sums }: AlertPayouts): string =>
  sums.map((sum) => moneyText(view, sumText(sum), sum.currency)).join(', ')

const sumText = ({ amount, currency }: MoneySum): string => amountText(amount, currency as 'EUR')

const leftPart = (view: ConsoleView, { left, ended }: AlertPayouts): Html | false =>
  left + ended > 0n &&
  html`<p>${fill(deskTexts[view.language].cases.left, { left: String(left), ended: String(ended) })}</p>`

function payoutsTable(view: ConsoleView, partnerId: string, { payments, waiting }: AlertPayouts): Html | false {
  const { cases: c } = deskTexts[view.language]
  return (
    payments.length > 0 &&
    html`${table({
      caption: c.held,
      columns: [[c.payout, 'head'], c.payee, c.created, [c.amount, 'number']],
      rows: payments.map((each) => [
        each.payoutId === undefined
          ? each.reference
          : html`<a href="${view.root}payouts/${partnerId}/${each.payoutId}">${each.reference}</a>`,
        freeText(each.payee),
        time(view, each.createdAt),
        money(view, sumText(each), each.currency),
      ]),
    })}
    ${BigInt(payments.length) < waiting && html`<p class="soft">${fill(c.morePayouts, { shown: String(payments.length) })}</p>`}`
  )
}

function subjectLinks(view: ConsoleView, { row, report, file, hits }: CaseDetails): Parameters<typeof facts>[0] {
  const { cases: c } = deskTexts[view.language]
  const { partnerId, kind, subject, booked } = row
  const isOfPayout = kind === 'sanctions_hold' && booked === null
  const isPayment = partnerId !== operatorPartnerId && kind !== 'monitoring_alert' && !isOfPayout
  return [
    [c.bank, row.connector === 'ledger' ? undefined : row.connector],
    [
      c.customer,
      report.customerId &&
        html`<a href="${view.root}${customerHref(partnerId, report.customerId)}">${c.openCustomer}</a>`,
    ],
    [
      c.payout,
      isOfPayout
        ? html`<a href="${view.root}payouts/${partnerId}/${subject}">${report.reference ?? subject}</a>`
        : undefined,
    ],
    [c.findPayment, isPayment ? findButton(view, subject, c.findPayment) : undefined],
    [c.file, file && html`<a href="${view.root}files/${file.id}">${file.name}</a>`],
    [c.hits, links(hits.map((hit) => ({ text: hit.listedName, href: `${view.root}hits/${hit.partnerId}/${hit.id}` })))],
  ]
}

function endedPart(view: ConsoleView, { resolution, resolvedBy, approvedBy, disposition, note }: CaseRow): Html {
  const { cases: c, resolutions } = deskTexts[view.language]
  const said = { resolution: resolutions[resolution ?? 'gone'], name: decidersText(view, resolvedBy, approvedBy) }
  const text =
    disposition === null
      ? fill(c.ended, said)
      : fill(c.endedAs, { ...said, disposition: valueLabel(view, 'disposition', disposition) })
  return html`${message('neutral', text)}
  ${note !== null && note !== '' && html`<blockquote>${noteText(view, note)}</blockquote>`}`
}

/** Renders the pending proposal with the form to approve it, or the choice of an action and then its form. */
function decisionPart(view: ConsoleView, shown: CaseDetails): Html | undefined {
  const { cases: c, queue: q } = deskTexts[view.language]
  const { row, proposal, mayDecide, roles } = shown
  if (row.returningSince !== null) return undefined
  const waits = proposal === null ? html`<p>${c.noProposal}</p>` : proposedPart(view, shown, proposal)
  if (!mayDecide)
    return html`<h2>${c.decide}</h2>
      ${waits} ${message('neutral', fill(c.readOnly, { roles: roles.map((role) => q[role]).join(', ') }))}
      <p><a href="${view.root}deciders">${c.whoDecides}</a></p>`
  return html`<h2>${c.decide}</h2>
    ${waits} ${awaitsPart(view, shown)} ${proposal !== null && decisionForms(view, shown, proposal)}
    ${shown.chosen === undefined ? choicePart(view, shown) : proposeForm(view, shown, shown.chosen)}`
}

function awaitsPart(view: ConsoleView, { row, hits }: CaseDetails): Html | false {
  const { cases: c } = deskTexts[view.language]
  const awaits = precedingDecision(row.kind)
  if (awaits === undefined || row.booked === null) return false
  if (awaits === 'payer') return message('warning', c.answerPayer)
  return (
    hits.length > 0 &&
    html`${message('warning', c.decideHit)}
      <p class="buttons">
        ${hits.map(({ partnerId, id }) => html`<a class="button" href="${view.root}hits/${partnerId}/${id}">${c.openHits}</a>`)}
      </p>`
  )
}

type Proposal = NonNullable<CaseDetails['proposal']>

function proposedPart(view: ConsoleView, { row, standing }: CaseDetails, proposal: Proposal): Html {
  const { cases: c } = deskTexts[view.language]
  const { action, note, disposition } = proposal
  const verb = actionVerb(view, action, row, standing?.waiting)
  return html`<div class="message warning">
      <p>${fill(c.waits, { name: row.proposedBy ?? '', verb })}</p>
      <p>${actionEffect(view, action, row, standing)}</p>
    </div>
    ${facts([
      [c.disposition, disposition === undefined ? undefined : valueLabel(view, 'disposition', disposition)],
      [c.note, freeText(note)],
    ])}`
}

function decisionForms(view: ConsoleView, { row, standing, typed }: CaseDetails, proposal: Proposal): Html {
  const { cases: c } = deskTexts[view.language]
  const action = (step: string) => `${view.root}cases/${row.partnerId}/${row.id}/${step}`
  const verb = actionVerb(view, proposal.action, row, standing?.waiting)
  return html`${
      proposal.isOwn
        ? html`<p>${c.own}</p>`
        : postButton(action('approve'), fill(c.approve, { verb }), {
            look: 'primary',
            hidden: { proposal: proposal.id },
          })
    }
    <details class="more">
      <summary>${proposal.isOwn ? c.withdraw : c.reject}</summary>
      <form method="post" action="${action('reject')}">
        ${noteField(view, 'reject-note', { label: c.note, value: typed('note') })}
        <button type="submit" class="danger">${proposal.isOwn ? c.withdraw : c.reject}</button>
      </form>
    </details>`
}

/** Lists the possible actions with their effects. Choosing one does not decide the case. */
function choicePart(view: ConsoleView, { row, actions, standing }: CaseDetails): Html {
  const { cases: c } = deskTexts[view.language]
  return html`<h3 id="choose">${c.choose}</h3>
    <p>${needsOnePerson(row, actions) ? c.chooseAlone : c.chooseText}</p>
    <ul class="choices">
      ${actions.map(
        (action) =>
          html`<li>
            <a class="button" href="${row.id}?do=${action}#form">${actionVerb(view, action, row, standing?.waiting)}</a>
            <p class="help">${actionEffect(view, action, row, standing)}</p>
          </li>`,
      )}
    </ul>`
}

/** Reports whether one person may close the case: it has no money, and is not a day of safeguarding. */
const needsOnePerson = ({ kind }: CaseRow, actions: readonly CaseAction[]): boolean =>
  kind !== 'safeguarding' && actions.every((action) => action === 'note')

/** Lists the options of `case propose` that an action needs. */
const actionFields = (action: CaseAction, { booked, kind }: CaseRow): readonly string[] => {
  if (action === 'match')
    return booked !== null && booked > 0n ? ['payout', 'customer', 'to-partner'] : ['payout', 'to-partner']
  if (action === 'credit' || action === 'charge') return ['to-partner']
  return kind === 'monitoring_alert' ? ['disposition'] : []
}

function proposeForm(view: ConsoleView, shown: CaseDetails, action: CaseAction): Html {
  const { cases: c } = deskTexts[view.language]
  const { row, options, standing, typed, actions } = shown
  const names = actionFields(action, row)
  const fitting: readonly string[] = possibleDispositions(action)
  const fields = options
    .filter(({ name }) => names.includes(name))
    .map((option) =>
      optionField(view, 'case propose', option.name === 'disposition' ? { ...option, values: fitting } : option, {
        ...{ value: typed(option.name), unchosen: option.name === 'disposition' },
      }),
    )
  const verb = actionVerb(view, action, row, standing?.waiting)
  return html`<h3 id="form">${verb}</h3>
    <p>${actionEffect(view, action, row, standing)}</p>
    <form method="post" action="${view.root}cases/${row.partnerId}/${row.id}/propose">
      ${hiddenField('action', action)} ${fields}
      ${noteField(view, 'propose-note', { label: c.note, help: c.noteHelp, value: typed('note') })}
      <div class="buttons">
        <button type="submit" class="primary">
          ${needsOnePerson(row, actions) ? verb : fill(c.proposeTo, { verb })}
        </button>
        ${actions.length > 1 && html`<a class="button plain" href="${row.id}#choose">${c.change}</a>`}
      </div>
    </form>`
}

type ListedCandidate = {
  readonly kind: 'payout' | 'deposit' | 'owner'
  readonly partnerId: string
  readonly id: string
  readonly status: string
  readonly money: string | null
  readonly on: Date | null
  readonly score: number
  readonly agreed: readonly string[]
}

function candidateTable(view: ConsoleView, row: CaseRow, candidates: readonly ListedCandidate[]): Html | undefined {
  const { queue: d, cases: c } = deskTexts[view.language]
  if (candidates.length === 0)
    return html`<h2>${d.candidates}</h2>
      ${message('neutral', d.candidatesNone)}`
  const matchHref = ({ kind, id, partnerId }: ListedCandidate): string => {
    const named = kind === 'payout' ? { payout: id } : kind === 'owner' && id !== partnerId ? { customer: id } : {}
    const elsewhere = partnerId === row.partnerId ? {} : { 'to-partner': partnerId }
    return `${row.id}?${new URLSearchParams({ do: 'match', ...named, ...elsewhere }).toString()}#form`
  }
  return titledTable({
    caption: d.candidates,
    text: d.candidatesText,
    columns: [
      ...([
        [d.candidate, 'head'],
        'ID',
        [d.points, 'number'],
        d.agreed,
        [d.money, 'number'],
        d.when,
        d.partner,
      ] as const),
      [c.match, 'actions'],
    ],
    rows: candidates.map((each) => [
      html`${valueLabel(view, 'candidate', each.kind)}
      ${each.status !== '' && (each.kind === 'payout' ? payoutBadge(view, each.status) : badge('neutral', each.status))}`,
      each.kind === 'payout'
        ? html`<a href="${view.root}payouts/${each.partnerId}/${each.id}">${each.id}</a>`
        : identifier(view, each.id, d.candidate),
      String(each.score),
      each.agreed.map((what) => valueLabel(view, 'agreed', what)).join(', '),
      each.money ?? '–',
      each.on === null ? '–' : time(view, each.on),
      identifier(view, each.partnerId, d.partner),
      each.kind === 'deposit' ? '' : html`<a class="button small" href="${matchHref(each)}">${c.useIt}</a>`,
    ]),
  })
}

type ListedRefund = {
  readonly payoutId: string
  readonly status: string
  readonly money: string
  /** True if the bank has paid the refund, so that it can be recalled. */
  readonly isPaid: boolean
}

/**
 * Lists the refunds of a payment that the payer's bank has reversed, with buttons to recall them if the reader may do
 * so.
 */
function refundTable(view: ConsoleView, { row, refunds, mayRecall }: CaseDetails): Html | undefined {
  const { partnerId, id } = row
  const d = deskTexts[view.language].queue
  return titledTable({
    caption: d.refunds,
    text: d.refundsText,
    columns: [[d.refund, 'head'], d.status, [d.money, 'number'], ''],
    rows: refunds.map(({ payoutId, status, money: amount, isPaid }) => [
      html`<a href="${view.root}payouts/${partnerId}/${payoutId}">${payoutId}</a>`,
      payoutBadge(view, status),
      amount,
      isPaid && mayRecall
        ? postButton(`${view.root}cases/${partnerId}/${id}/recall`, d.recallRefund, { hidden: { payout: payoutId } })
        : '',
    ]),
  })
}

type RelatedCase = Pick<CaseRow, 'partnerId' | 'id' | 'kind' | 'openedAt' | 'resolution'>

function relatedTable(view: ConsoleView, related: readonly RelatedCase[]): Html | undefined {
  const { queue: d, resolutions } = deskTexts[view.language]
  return titledTable({
    caption: d.related,
    columns: [[d.kind, 'head'], d.opened, d.what],
    rows: related.map(({ partnerId, id, kind, openedAt, resolution }) => [
      html`<a href="${view.root}cases/${partnerId}/${id}">${kindName(view, kind)}</a>`,
      time(view, openedAt),
      resolution === null ? d.open : resolutions[resolution],
    ]),
  })
}

function historyTable(view: ConsoleView, decisions: CaseDetails['decisions']): Html | undefined {
  const { queue: d, steps, effects: e } = deskTexts[view.language]
  const words: Readonly<Record<string, string>> = steps
  return titledTable({
    caption: d.history,
    columns: [[d.when, 'head'], d.who, d.what, d.note],
    rows: decisions.map(({ at, actor, kind, note, stopped, alreadySent }) => [
      time(view, at),
      freeText(actorText(view, actor)),
      html`${words[kind] ?? kind}
      ${stopped !== null && html`<span class="soft">${fill(e.stopped, { count: String(stopped) })}</span>`}
      ${alreadySent !== null && alreadySent > 0 && html`<span class="soft">${fill(e.notReached, { left: String(alreadySent) })}</span>`}`,
      freeText(noteText(view, note)),
    ]),
  })
}
