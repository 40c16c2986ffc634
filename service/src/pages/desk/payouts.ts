/**
 * The page of a payout: its state, what bank and partner see of it, and the actions of staff. The operator's audit log
 * records who opened it.
 */
import { referenceCharsMax } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { field } from '../kit/forms.ts'
import {
  facts,
  freeText,
  identifier,
  message,
  money,
  payoutBadge,
  steps,
  summaryStrip,
  time,
  wordFor,
  badge,
  table,
} from '../kit/parts.ts'
import { type FieldReader, page, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { texts as consoleTexts } from '../console/texts/index.ts'
import { actionButtons, type ActionName, actionResultHref, actionMessage } from './acts.ts'
import { casesTable, customerHref, partnerReference, payeeHref } from './parties.ts'
import { deskTexts, type DeskTexts } from './texts.ts'
import { commandFields, commandRoute, noteField, type RefusedForm } from './forms.ts'
import { type DeskFrame, type FormOption, readKey, type Person, staffRoute } from './request.ts'
import { readWaitingItem, runbookLink, waitingItemSections, type WaitingItemDetails } from './things.ts'
import { type CaseRow, readCaseReport } from '../../cases/index.ts'
import { screenedParties, type PayoutRow } from '../../payouts/index.ts'

/** A payout as `payment find` prints it. */
export type PrintedPayout = {
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
    /** The bank's code and text. */
    readonly reason?: string
    readonly bankText?: string
  }[]
  /** The kind of hold. Undefined if the payout is not on hold. */
  readonly hold: keyof DeskTexts['holdNext'] | undefined
  /** The reason that the partner sees. Undefined if the payout is not on hold. */
  readonly partnerReads: string | undefined
  /** The repository path of the runbook `stuck-payout`, with the section for the status. */
  readonly runbook: string
}

/** A payment as `bank payment` prints it. */
type PrintedBankPayment = {
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

type PayoutDetails = {
  readonly payout: PrintedPayout
  readonly bank: PrintedBankPayment | undefined
  /** Undefined if the payout needed no approval. */
  readonly approval:
    | { readonly decision: string | null; readonly by: string | null; readonly at: Date | null }
    | undefined
  readonly cases: Parameters<typeof casesTable>[1]
  readonly partnerName: string | undefined
  /** Null for the partner's own payee, and in a simulation. */
  readonly beneficiaryId: string | null
  readonly customerId: string | null
  /** Buttons of the actions that have no form on this page. */
  readonly acts: Html | undefined
  readonly held: HoldReasons
  readonly thing: WaitingItemDetails
  readonly mayAct: boolean
  readonly options: readonly FormOption[]
  readonly said?: Html | undefined
  readonly error?: string | undefined
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: (name: string) => string
}

export function payoutPage(view: ConsoleView, shown: PayoutDetails): string {
  const d = deskTexts[view.language].payouts
  const { payout, bank, said, error } = shown
  const title = fill(d.payout, { reference: payout.userReference ?? payout.reference })
  return shell(view, {
    title,
    wide: true,
    problems: { form: error },
    main: html`<h1>${title}</h1>
      ${said}
      <p class="lead">${d.text}</p>
      ${summaryStrip([
        [d.amount, money(view, payout.amount, payout.currency)],
        [d.status, payoutBadge(view, payout.status)],
        [d.since, payout.since === undefined ? '–' : time(view, new Date(payout.since))],
        [d.attempts, String(payout.attempts)],
      ])}
      <h2>${d.next}</h2>
      <p>${nextStep(view, payout)}</p>
      ${payout.partnerReads !== undefined && html`<p>${fill(d.partnerReads, { reason: payout.partnerReads })}</p>`}
      ${payoutFacts(view, shown)}
      <h2>${d.timeline}</h2>
      ${steps(
        view,
        payout.timeline.map(({ step, createdAt, reason, bankText }) => ({
          title: wordFor(consoleTexts[view.language].payments.step, step),
          at: new Date(createdAt),
          detail: [reason, bankText && fill(d.bankSays, { text: bankText })].filter(Boolean).join(' ') || undefined,
        })),
      )}
      <h2>${d.atBank}</h2>
      ${bank === undefined ? message('neutral', d.atBankNone) : bankFacts(view, bank)} ${approvalPart(view, shown)}
      ${holdPart(view, shown.held)} ${casesPart(view, shown)} ${waitingItemSections(view, shown.thing, shown.typed)}
      ${actionForms(view, shown)} ${shown.acts}`,
  })
}

/** Returns the next step for staff. */
function nextStep({ language }: ConsoleView, { hold, status }: PrintedPayout): string {
  const texts = deskTexts[language]
  if (hold !== undefined) return texts.holdNext[hold]
  return wordFor(texts.payoutEnded, status)
}

function payoutFacts(view: ConsoleView, shown: PayoutDetails): Html {
  const texts = deskTexts[view.language]
  const d = texts.payouts
  const { payout, beneficiaryId, customerId, partnerName } = shown
  const { partnerId, errorKey, errorDetails } = payout
  return facts([
    [d.partner, partnerReference(view, partnerId, partnerName)],
    [
      texts.parties.customer,
      customerId === null
        ? texts.parties.own
        : html`<a href="${view.root}${customerHref(partnerId, customerId)}">${texts.parties.customer}</a>`,
    ],
    [d.payoutId, identifier(view, payout.payoutId, d.payoutId)],
    [d.serviceReference, identifier(view, payout.reference, d.serviceReference)],
    [d.instruction, identifier(view, payout.instructionId, d.instruction)],
    [d.endToEndId, identifier(view, payout.endToEndId, d.endToEndId)],
    [
      d.beneficiary,
      beneficiaryId === null
        ? freeText(payout.beneficiary)
        : html`<a href="${view.root}${payeeHref(partnerId, beneficiaryId)}">${freeText(payout.beneficiary)}</a>`,
    ],
    [d.connector, payout.connector],
    [d.sold, payout.sold ?? undefined],
    [
      d.error,
      errorKey === null
        ? undefined
        : freeText(
            [wordFor(consoleTexts[view.language].payments.errorKey, errorKey), errorDetails ?? ''].join(' ').trim(),
          ),
    ],
    [d.runbook, runbookLink(view, 'stuck-payout', payout.runbook.split('#')[1])],
  ])
}

function bankFacts(view: ConsoleView, bank: PrintedBankPayment): Html {
  const d = deskTexts[view.language].payouts
  const { file, fileId, settledAt, missingSince } = bank
  return facts([
    [d.bankStatus, wordFor(view.t.payoutStatus, bank.status)],
    [d.scheme, bank.schemeApplied],
    [d.reason, bank.reasonCode ?? undefined],
    [
      d.file,
      file === null
        ? undefined
        : html`<a href="${view.root}files/${fileId ?? ''}">${file.name}</a>
            ${wordFor(deskTexts[view.language].files, file.state)}`,
    ],
    [d.settledAt, settledAt === null ? undefined : time(view, new Date(settledAt))],
    [d.missingSince, missingSince === null ? undefined : time(view, new Date(missingSince))],
    [d.recall, bank.recall?.status],
  ])
}

function approvalPart(view: ConsoleView, { approval, payout }: PayoutDetails): Html {
  const d = deskTexts[view.language].payouts
  const decided =
    approval === undefined
      ? d.approvalNone
      : approval.decision === null || approval.at === null
        ? d.approvalOpen
        : html`${wordFor(deskTexts[view.language].approvalDecisions, approval.decision)},
          ${freeText(approval.by ?? '')}, ${time(view, approval.at)}`
  return html`<h2>${d.approval}</h2>
    <p>${decided}</p>
    <p><a href="${view.root}partners/${payout.partnerId}">${d.rules}</a></p>`
}

function casesPart(view: ConsoleView, { cases, held }: PayoutDetails): Html | undefined {
  const d = deskTexts[view.language].payouts
  if (cases.length === 0 && held.alerts.length + held.hits.length > 0) return undefined
  if (cases.length === 0)
    return html`<h2>${d.cases}</h2>
      ${message('neutral', d.casesNone)}`
  return html`<h2>${d.cases}</h2>
    ${casesTable(view, cases, d.cases)}`
}

/** Statuses in which the worker retries. */
const retriedStatuses: ReadonlySet<string> = new Set(['Pending', 'Processing'])

function actionForms(view: ConsoleView, { payout, mayAct, options, typed }: PayoutDetails): Html | undefined {
  const d = deskTexts[view.language].payouts
  const mayRetry = retriedStatuses.has(payout.status)
  const mayEnd = payout.status === 'Sent'
  if (!mayRetry && !mayEnd) return undefined
  if (!mayAct)
    return html`<h2>${d.actions}</h2>
      ${message('neutral', d.readOnly)}`
  const action = (name: string) => `${view.root}payouts/${payout.partnerId}/${payout.payoutId}/${name}`
  const text = (name: 'document' | 'digest', more: Html, help?: string) =>
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
          ${commandFields(view, { command: 'payment end', options, without: ['partner', 'payout'], unchosen: 'outcome', typed })}
          ${text('document', html`maxlength="${referenceCharsMax}"`)}
          ${text('digest', html`maxlength="64" autocomplete="off" spellcheck="false"`, d.digestHelp)}
          ${noteField(view, 'note', { value: typed('note') })}
          <button type="submit" class="danger">${d.propose}</button>
        </form>`
    }`
}

export const payoutRoutes = (frame: DeskFrame): readonly PublicRoute[] => {
  const form = {
    place: 'find',
    key: (request: PublicRequest) => {
      const { partnerId, id } = readKey(request)
      return { partner: partnerId, payout: id }
    },
    again: (request: PublicRequest, person: Person, refused: RefusedForm) => show(frame, request, person, refused),
  } as const
  const path = '/payouts/{partnerId}/{id}'
  return [
    staffRoute(frame, 'find', 'GET', path, (request, person) => show(frame, request, person)),
    commandRoute(frame, {
      ...{ ...form, path: `${path}/retry`, command: 'payment retry', withoutNote: true },
      answer: (_ran, { params }) => seeOther(actionResultHref(`../${params['id']}`, 'payment retry', undefined)),
    }),
    commandRoute(frame, {
      ...{ ...form, path: `${path}/end`, command: 'payment end', more: readEvidence },
      answer: ({ waits }, { params }) => seeOther(actionResultHref(`../${params['id']}`, 'payment end', waits)),
    }),
  ]
}

/** Reads the evidence of `payment end`: the name and digest of a document, never a path on the server. Refuses: validation_failed. */
function readEvidence(form: FieldReader, { view }: Person) {
  const [document, digest] = [form('document').trim(), form('digest').trim().toLowerCase()]
  const isNamed = document !== '' && document.length <= documentCharsMax
  if (form('outcome') === '' || !isNamed || !/^[0-9a-f]{64}$/.test(digest))
    throw new Refusal('validation_failed', deskTexts[view.language].payouts.digestWrong)
  return { evidence: `${document} sha256:${digest}` }
}
const documentCharsMax = 140

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  person: Person,
  refused?: RefusedForm,
): Promise<PublicAnswer> {
  const { view, signed } = person
  const { db, access, cases, changes, payouts, staff } = frame
  const { partnerId, id } = readKey(request)
  const [found] = await payouts.find(partnerId, { id }, 1)
  if (found === undefined) throw notFound('payout')
  // Banks and candidates use the id of the instruction.
  if (found.payout.id !== id) return seeOther(found.payout.id)
  await staff.recordPayout(signed, { payouts: [`${partnerId}/${id}`] })
  const read = (await changes.read('payment find', { partner: partnerId, id })) as {
    payments: readonly PrintedPayout[]
  }
  const [payout] = read.payments
  if (payout === undefined) throw notFound('payout')
  const decision = (await payouts.decisionsOf(partnerId, [found.payout])).get(id)
  const about = [id, payout.instructionId, payout.endToEndId, payout.reference]
  const bank = await readBankPayment(frame, partnerId, id)
  const offered = {
    acts: offeredActs(payout, bank),
    given: { partner: partnerId, payout: id },
    back: `payouts/${partnerId}/${id}`,
  }
  const body = payoutPage(view, {
    payout,
    bank,
    partnerName: (await access.namesOf(db, [partnerId])).get(partnerId),
    ...{ beneficiaryId: found.payout.beneficiaryId, customerId: found.payout.customerId },
    acts: actionButtons(view, { ...frame, person }, offered),
    approval: decision && { decision: decision.decision, by: decision.decidedName, at: decision.decidedAt },
    cases: await cases.about(db, partnerId, about),
    held: await readHoldReasons(frame, found.payout),
    thing: await readWaitingItem(frame, signed, { partnerId, kind: 'payout', subject: id }),
    mayAct: changes.mayDecide('payment end', signed.account.role),
    options: changes.form('payment end'),
    said: actionMessage(view, request),
    error: refused?.error,
    typed: refused?.form ?? (() => ''),
  })
  return page(request, refused === undefined ? 200 : 400, body)
}

/** Lists the actions for a completed payout or its recall. */
function offeredActs({ status }: PrintedPayout, bank: PrintedBankPayment | undefined): readonly ActionName[] {
  const hasRecall = bank?.recall !== undefined && bank.recall !== null
  return [
    ...(status === 'Completed' ? (['payment recall', 'payment undo'] as const) : []),
    ...(hasRecall ? (['bank recall sent', 'bank recall answer'] as const) : []),
  ]
}

/** Reads the payment at a file-based bank. Undefined if no such bank has it. */
async function readBankPayment(
  { changes }: DeskFrame,
  partner: string,
  payout: string,
): Promise<PrintedBankPayment | undefined> {
  try {
    return (await changes.read('bank payment', { partner, payout })) as PrintedBankPayment
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

// Reasons why a payout is held: alerts and hits that people must decide.

export type HoldReasons = {
  readonly alerts: readonly Pick<CaseRow, 'partnerId' | 'id' | 'openedAt' | 'report'>[]
  readonly hits: readonly {
    readonly partnerId: string
    readonly id: string
    readonly name: string
    readonly listedName: string
    readonly status: string
    readonly openedAt: Date
  }[]
}

/** Reads the alerts and hits that hold a payout before its first attempt, with four statements by key. Later payouts are not held. */
async function readHoldReasons(frame: DeskFrame, payout: PayoutRow): Promise<HoldReasons> {
  const { cases, db, monitoring, screening } = frame
  if (payout.status !== 'Pending') return { alerts: [], hits: [] }
  const { partnerId, transactionId } = payout
  const ids = [
    ...new Set((await monitoring.holdingAlerts(db, partnerId, [transactionId])).map(({ alertId }) => alertId)),
  ]
  const rows = await Promise.all(ids.map((id) => cases.byId(db, partnerId, id)))
  return {
    alerts: rows.filter((row) => row !== undefined).filter(({ resolution }) => resolution === null),
    hits: await screening.hitsOn(partnerId, screenedParties(payout)),
  }
}

/** Renders what holds a payout. Undefined if nothing does. */
function holdPart(view: ConsoleView, { alerts, hits }: HoldReasons): Html | undefined {
  const { held: d, hits: h } = deskTexts[view.language]
  const statuses: Readonly<Record<string, string>> = h
  if (alerts.length + hits.length === 0) return undefined
  return html`<h2>${d.title}</h2>
    ${message('warning', d.text)}
    ${table({
      caption: d.title,
      columns: [[d.by, 'head'], d.what, d.since, deskTexts[view.language].queue.runbook],
      rows: [
        ...alerts.map((row) => [
          html`<a href="${view.root}cases/${row.partnerId}/${row.id}"
            >${d.alert}: ${readCaseReport(row).rule?.name ?? ''}</a
          >`,
          d.decideAlert,
          time(view, row.openedAt),
          runbookLink(view, 'monitoring-alert'),
        ]),
        ...hits.map((hit) => [
          html`<a href="${view.root}hits/${hit.partnerId}/${hit.id}">${d.hit}: ${hit.name} – ${hit.listedName}</a>
            ${badge('neutral', statuses[`status-${hit.status}`] ?? hit.status)}`,
          freeText(hit.status === 'confirmed' ? d.confirmed : d.decideHit),
          time(view, hit.openedAt),
          runbookLink(view, 'screening-hit'),
        ]),
      ],
    })}`
}
