/** The page of a payout, and the forms that cancel and recall it. */
import { decimalText, payouts, type ResponseOf } from '@partner-payments/wire'
import { ifFound, notFound, type PublicAnswer, type PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { explainHold, type PartnerHold } from '../../transactions/index.ts'
import { receiptPdf } from '../../typesetting/index.ts'
import { html, type Html } from '../html.ts'
import { confirmationDialog, input, type FieldProblems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import {
  account,
  facts,
  identifier,
  liveRegion,
  message,
  money,
  payoutBadge,
  rawJson,
  referenceText,
  section,
  serviceReference,
  type Step,
  steps,
  summaryStrip,
  time,
  wordFor,
} from '../kit/parts.ts'
import {
  readCompletedForm,
  consoleHeaders,
  pathWithQuery,
  page,
  readForm,
  seeOther,
  pageStatus,
} from '../kit/request.ts'
import { callOf, type Frame, may, type Person, refusalProblems, type Routes, placeRoutes } from './request.ts'
import { confirmationDocument } from './payout-confirmation.ts'
import { type Recalls, recallSection, recallRow } from './payout-recalls.ts'
import { isInProgress, payoutRow } from './payouts.ts'
import { texts } from './texts/index.ts'
import { type PossibleDuplicates, duplicatesSection } from './repeats.ts'
import { holdSection, timelineSteps, transactionHref } from './transactions.ts'

type Note = {
  /** Empty: there is none. */
  readonly text: string
  readonly updatedBy?: string | undefined
  readonly updatedAt?: Date | undefined
  readonly mayWrite: boolean
}

type PayoutDetails = {
  readonly id: string
  readonly reference: string
  readonly userReference?: string | undefined
  readonly amount: string
  readonly currency: string
  readonly fee?: string | undefined
  readonly feeCurrency: string
  readonly sold?: { readonly amount: string; readonly currency: string } | undefined
  readonly status: string
  readonly payee: string
  readonly payeeAccount: string
  readonly payeeHref?: string | undefined
  readonly transactionHref?: string | undefined
  /** Link to a new payout with the same payee, amount and reference. Absent: this payout has not failed. */
  readonly againHref?: string | undefined
  readonly requestedBy?: string | undefined
  readonly rail?: string | undefined
  readonly errorKey?: string | undefined
  readonly endToEndId: string
  readonly idempotencyKey?: string | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly approval?:
    | {
        readonly until?: Date | undefined
        readonly decision?: string | undefined
        readonly decidedBy?: string | undefined
        readonly decidedAt?: Date | undefined
        readonly reason?: string | undefined
      }
    | undefined
  readonly may: {
    readonly cancel: boolean
    /** `own`: the person created the payout, so another person must approve it. */
    readonly approve: 'yes' | 'own' | 'no'
  }
  /** Name of the last form that succeeded. */
  readonly done?: (typeof doneForms)[number] | undefined
  readonly repeats: PossibleDuplicates
  readonly note: Note
  /** Absent: the payout has not settled. */
  readonly recalls?: Recalls | undefined
  /** Absent: the payment is not on hold. */
  readonly hold?: PartnerHold | undefined
  readonly steps: readonly Step[]
  readonly problems: FieldProblems
  readonly raw: unknown
}

const cancelId = 'cancel-payout'

export function payoutPage(view: ConsoleView, payout: PayoutDetails): string {
  const p = texts[view.language].payments
  const { amount, currency, payee, status, createdAt, problems, transactionHref } = payout
  return shell(view, {
    title: `${p.payout} ${referenceText(payout)}`,
    problems,
    main: html`${outcome(view, payout)}
      <div class="heading">
        <h1>${payee}</h1>
        <div class="buttons">
          ${payout.may.approve === 'yes' && html`<a class="button primary" href="${view.root}payouts/${payout.id}/approve">${p.review}</a>`}
          ${payout.againHref !== undefined && html`<a class="button" href="${payout.againHref}">${p.payAgain}</a>`}
          ${payout.may.cancel && html`<button type="button" class="danger" popovertarget="${cancelId}" aria-haspopup="dialog">${p.cancelPayout}</button>`}
        </div>
      </div>
      ${liveRegion(
        isInProgress(status),
        summaryStrip([
          [p.amount, money(view, amount, currency, 'main')],
          [p.status, payoutBadge(view, status)],
          [p.account, account(view, payout.payeeAccount)],
          [p.created, time(view, createdAt)],
        ]),
      )}
      ${payout.may.approve === 'own' && message('warning', p.approvalOwn)}
      ${payout.hold !== undefined && holdSection(view, payout.hold)} ${duplicatesSection(view, payout.repeats)}
      ${details(view, payout)} ${notePart(view, payout)}
      ${payout.approval !== undefined && approvalPart(view, payout.approval)}
      ${payout.steps.length > 0 && html`${section('timeline', p.timeline, steps(view, payout.steps))}`}
      ${payout.recalls !== undefined && recallSection(view, payout.id, payout.recalls, problems)}
      <p class="buttons">
        ${status === 'Completed' && html`<a class="button" href="${view.root}payouts/${payout.id}/confirmation.pdf" download>${texts[view.language].sending.toConfirmation}</a>`}
        ${transactionHref !== undefined && html`<a class="button" href="${transactionHref}">${p.toTransaction}</a>`}
        ${payout.payeeHref !== undefined && html`<a class="button" href="${payout.payeeHref}">${p.toPayee}</a>`}
      </p>
      ${rawJson(view, payout.raw)} ${payout.may.cancel && cancelDialog(view, payout)}`,
  })
}

function outcome({ language }: ConsoleView, { done, status }: PayoutDetails): Html | undefined {
  const p = texts[language].payments
  const s = texts[language].sending
  if (done === 'cancelled' || done === 'recallRequested') return message('good', p[done])
  if (done === 'approved' || done === 'rejected' || done === 'noteSaved') return message('good', s[done])
  if (done !== 'created') return undefined
  if (status === 'Pending') return message('good', p.created_Pending)
  return message('good', status === 'PendingApproval' ? p.created_PendingApproval : p.created_other)
}

function details(view: ConsoleView, payout: PayoutDetails): Html {
  const p = texts[view.language].payments
  const { fee, feeCurrency, sold, errorKey, idempotencyKey, endToEndId, requestedBy, rail, id } = payout
  const ours = serviceReference(payout)
  return facts([
    [p.failure, errorKey && html`${wordFor(p.errorKey, errorKey)} ${payout.status === 'Failed' && p.moneyBack}`],
    [p.reference, html`<span class="free">${referenceText(payout)}</span>`],
    [p.serviceReference, ours && identifier(view, ours, p.serviceReference)],
    [p.fee, fee === undefined ? undefined : money(view, fee, feeCurrency)],
    [p.exchanged, sold && money(view, sold.amount, sold.currency)],
    [p.requestedBy, requestedBy],
    [p.rail, rail && wordFor(p.rails, rail)],
    [p.endToEndId, identifier(view, endToEndId, p.endToEndId)],
    [p.idempotencyKey, idempotencyKey && identifier(view, idempotencyKey, p.idempotencyKey)],
    [p.id, identifier(view, id, p.id)],
    [p.updated, time(view, payout.updatedAt)],
  ])
}

function notePart(view: ConsoleView, { id, note, problems }: PayoutDetails): Html | undefined {
  const s = texts[view.language].sending
  const p = texts[view.language].payments
  const { text, updatedBy, updatedAt, mayWrite } = note
  if (text === '' && !mayWrite) return undefined
  const isOpen = problems['note'] !== undefined
  return html`<section aria-labelledby="note-title">
    <h2 id="note-title">${s.note}</h2>
    ${
      text !== '' &&
      html`<p class="free">${text}</p>
        ${facts([
          [s.noteBy, updatedBy],
          [p.updated, updatedAt && time(view, updatedAt)],
        ])}`
    }
    ${
      mayWrite &&
      html`<details class="more" ${isOpen && html` open`}>
        <summary>${text === '' ? s.noteWrite : s.noteChange}</summary>
        <form method="post" action="${view.root}payouts/${id}/note">
          ${input(
            view,
            { values: { note: text }, problems },
            {
              name: 'note',
              label: s.note,
              help: s.noteHelp,
              charsMax: payouts.noteCharsMax,
              optional: 'unmarked',
            },
          )}
          <button type="submit">${s.noteSave}</button>
        </form>
      </details>`
    }
  </section>`
}

function approvalPart(view: ConsoleView, approval: NonNullable<PayoutDetails['approval']>): Html {
  const p = texts[view.language].payments
  const { until, decision, decidedBy, decidedAt, reason } = approval
  return html`${section(
    'approval',
    p.approval,
    facts([
      [p.approval, decision && wordFor(p.approvalDecision, decision)],
      [p.decidedBy, decidedBy],
      [p.decidedAt, decidedAt && time(view, decidedAt)],
      [p.rejectReason, reason],
      [p.approvalUntil, decision === undefined && until !== undefined ? time(view, until) : undefined],
    ]),
  )}`
}

function cancelDialog(view: ConsoleView, { id, payee, amount, currency }: PayoutDetails): Html {
  const p = texts[view.language].payments
  return confirmationDialog({
    id: cancelId,
    title: p.cancelTitle,
    action: `${view.root}payouts/${id}/cancel`,
    about: html`<p>${money(view, amount, currency, 'main')}</p>
      <p>${payee}</p>`,
    effects: [p.cancelEffect, p.cancelMoney, p.cancelFinal],
    submit: p.cancelPayout,
    cancel: p.keep,
  })
}

type Payout = ResponseOf<'listPayouts'>['data'][number]

/** A refused form of the page: its problems and its values. */
type RefusedForm = {
  readonly problems: FieldProblems
  readonly recall?: { readonly reason: string; readonly text: string }
  readonly note?: string
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  { problems, recall, note: typedNote }: RefusedForm = { problems: {} },
): Promise<PublicAnswer> {
  const { view, user } = person
  const { operate } = frame
  const call = callOf(person, request)
  const id = request.params['id'] ?? ''
  const raw = await operate('getPayout', { ...call, params: { id } })
  const ofTransaction = { ...call, params: { reference: raw.reference } }
  const hasSettled = raw.rail === 'Sepa' && (raw.status === 'Completed' || raw.status === 'Returned')
  const [repeats, note, transaction, timeline, recalls] = await Promise.all([
    operate('listPayoutDuplicates', { ...call, params: { id } }),
    operate('getPayoutNote', { ...call, params: { id } }),
    may(person, 'transactions:read') ? ifFound(operate('getTransaction', ofTransaction)) : undefined,
    may(person, 'transactions:read') ? ifFound(operate('getTransactionTimeline', ofTransaction)) : undefined,
    hasSettled ? operate('listPayoutRecalls', { ...call, params: { id } }) : undefined,
  ])
  const isOwn = timeline?.requestedBy?.id === user.id
  const isWaiting = raw.status === 'PendingApproval'
  const { beneficiaryId } = raw
  const shown = {
    ...payoutDetails(raw),
    payeeHref:
      beneficiaryId !== undefined && may(person, 'beneficiaries:read')
        ? `${view.root}payees/${beneficiaryId}`
        : undefined,
    transactionHref: transaction && transactionHref(view, raw.reference),
    againHref: may(person, 'payouts:write') ? againHref(view, raw) : undefined,
    requestedBy: timeline?.requestedBy?.name,
    may: {
      cancel: may(person, 'payouts:write') && (isWaiting || raw.status === 'Pending'),
      approve:
        !isWaiting || !may(person, 'payouts:write') ? ('no' as const) : isOwn ? ('own' as const) : ('yes' as const),
    },
    done: readCompletedForm(request, doneForms),
    hold:
      timeline?.hold ??
      (isWaiting ? explainHold({ kind: 'approval', by: payoutDetails(raw).approval?.until ?? null }) : undefined),
    steps: timeline === undefined ? [] : timelineSteps(view, timeline),
    recalls: recalls && {
      rows: recalls.data.map((each) => recallRow(view, each)),
      form:
        may(person, 'payouts:write') && raw.status === 'Completed'
          ? { idempotencyKey: newId(), typed: recall }
          : undefined,
    },
    repeats,
    note: {
      text: typedNote ?? note.note ?? '',
      updatedBy: note.updatedBy,
      updatedAt: note.updatedAt === undefined ? undefined : new Date(note.updatedAt),
      mayWrite: may(person, 'payouts:write'),
    },
    problems,
    raw,
  }
  return page(request, pageStatus(problems), payoutPage(view, shown))
}

/** Statuses of payouts whose money is available again. */
const unpaidStatuses: readonly string[] = ['Failed', 'Returned', 'Cancelled']

const againHref = ({ root }: ConsoleView, { status, rail, beneficiaryId, amount, sellAmount, userReference }: Payout) =>
  beneficiaryId !== undefined && rail !== 'Wallet' && sellAmount === undefined && unpaidStatuses.includes(status)
    ? pathWithQuery(`${root}payouts/new`, {
        beneficiaryId,
        amount: decimalText(amount),
        ...(userReference !== undefined && { reference: userReference }),
      })
    : undefined

const doneForms = ['created', 'approved', 'rejected', 'cancelled', 'recallRequested', 'noteSaved'] as const

export const payoutRoutes: Routes = (frame) => {
  const { operate } = frame
  const cancel = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const id = request.params['id'] ?? ''
    try {
      await operate('cancelPayout', { ...callOf(person, request), params: { id } })
    } catch (error) {
      return showOne(frame, request, person, {
        problems: refusalProblems(texts[person.view.language].payments, error, []),
      })
    }
    return seeOther(`../${id}?done=cancelled`)
  }
  const recall = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const id = request.params['id'] ?? ''
    const given = readForm(request)
    const typed = { reason: given('reason'), text: given('text').trim() }
    const { reason, text } = typed
    const call = { ...callOf(person, request), params: { id }, idempotencyKey: given('idempotencyKey') || newId() }
    try {
      await operate('createPayoutRecall', { ...call, body: { reason, ...(text && { text }) } })
    } catch (error) {
      const problems = refusalProblems(texts[person.view.language].payments, error, ['reason', 'text'])
      return showOne(frame, request, person, { problems, recall: typed })
    }
    return seeOther(`../${id}?done=recallRequested`)
  }
  const note = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const id = request.params['id'] ?? ''
    const text = readForm(request)('note').trim()
    try {
      await operate('setPayoutNote', {
        ...callOf(person, request),
        params: { id },
        body: text === '' ? {} : { note: text },
      })
    } catch (error) {
      const { payments: p, sending: s } = texts[person.view.language]
      const problems = refusalProblems(p, error, ['note'], { note: s.noteWrong })
      return showOne(frame, request, person, { problems, note: text })
    }
    return seeOther(`../${id}?done=noteSaved`)
  }
  const route = placeRoutes(frame, frame.withMoney, 'payouts')
  return [
    route('GET', '/{id}', 'payouts:read', showOne),
    route('GET', '/{id}/confirmation.pdf', 'payouts:read', sendConfirmation),
    route('POST', '/{id}/cancel', 'payouts:write', cancel),
    route('POST', '/{id}/note', 'payouts:write', note),
    route('POST', '/{id}/recall', 'payouts:write', recall),
  ]
}

/** Sends the confirmation as PDF. Refuses: not_found (also for a payout that is not completed). */
async function sendConfirmation(
  { operate }: Frame,
  request: PublicRequest,
  { view, ...person }: Person,
): Promise<PublicAnswer> {
  const id = request.params['id'] ?? ''
  const payout = await operate('getPayout', { ...callOf(person, request), params: { id } })
  if (payout.status !== 'Completed') throw notFound('confirmation')
  const parts = await Array.fromAsync(receiptPdf(confirmationDocument(view, person.partnerName, payout)))
  const disposition = `attachment; filename="confirmation-${payout.id}.pdf"`
  const headers = { ...consoleHeaders, 'content-type': 'application/pdf', 'content-disposition': disposition }
  return { status: 200, headers, body: Buffer.concat(parts) }
}

function payoutDetails(raw: Payout) {
  const { fee, sellAmount, sellCurrency, approval, approvalExpiresAt } = raw
  const { rail, errorKey, endToEndId, idempotencyKey } = raw
  const at = (text: string | undefined) => (text === undefined ? undefined : new Date(text))
  return {
    ...payoutRow(raw),
    rail,
    errorKey,
    endToEndId,
    idempotencyKey,
    fee: fee === undefined ? undefined : decimalText(fee),
    feeCurrency: sellCurrency ?? raw.currency,
    sold:
      sellAmount === undefined || sellCurrency === undefined
        ? undefined
        : { amount: decimalText(sellAmount), currency: sellCurrency },
    updatedAt: new Date(raw.updatedAt),
    approval: approval && {
      until: at(approvalExpiresAt),
      decision: approval.decision,
      decidedBy: approval.decidedBy?.name,
      decidedAt: at(approval.decidedAt),
      reason: approval.reason,
    },
  }
}
