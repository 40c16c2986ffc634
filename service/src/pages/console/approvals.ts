/** The approval of a payout or a bulk: what the person signs, the page, and the forms that approve and reject. */
import { referenceCharsMax } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { amountText, isUuid } from '../../kernel/index.ts'
import { type BeyondMaximum, parseReference } from '../../payouts/controls/index.ts'
import type { ConfirmationInput } from '../../people/sign-in/index.ts'
import { html, type Html } from '../html.ts'
import { hiddenField, input } from '../kit/forms.ts'
import { consoleMessagePage, type ConsoleView, shell } from '../kit/frame.ts'
import {
  freeText,
  formatGrouped,
  formatAccount,
  message,
  money,
  referenceCell,
  referenceText,
  serviceReference,
  table,
  time,
} from '../kit/parts.ts'
import { codeCharsMax, readId, page, readForm, seeOther } from '../kit/request.ts'
import { fill } from '../language.ts'
import { noDuplicates, duplicatesSection } from './repeats.ts'
import { type Frame, type Person, type Routes, sessionCookieFor, type WithPerson } from './request.ts'
import { passkeyForm } from './sign-in.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'

type ExceededMaximum = {
  readonly currency: string
  /** Amounts in major units. */
  readonly most: string
  readonly left: string
  readonly resetsAt: Date
}

/** Content of the page for a payout, or for the payouts of a bulk. */
type Approval = {
  readonly words: ConsoleTexts['approvals']
  /** Path below the root, to which `/approve` and `/reject` are added. */
  readonly path: string
  /** The facts that the person signs: amount and payee of a payout, or number and sums of a bulk. */
  readonly facts: readonly (readonly [label: string, value: Html | string, form?: 'sum' | 'code'])[]
  /** Label of the button. */
  readonly label: string
  readonly more?: Html
  /** Number of payouts in the bulk. Absent: the approval is about one payout. */
  readonly payouts?: number
  readonly requestedName: string
  readonly hasMakerLeft: boolean
  readonly nonce: string
  /** PublicKeyCredentialRequestOptionsJSON. Absent: the person has no passkey. */
  readonly passkeyOptions?: string | undefined
  readonly needsPasskey: boolean
  /** The daily maximum of the person, if this approval would exceed it. The page then has no form to approve. */
  readonly beyond?: ExceededMaximum
  readonly errors?: Readonly<Record<string, string>>
}

export function approvalPage(view: ConsoleView, approval: Approval): string {
  const { words: t, errors = {}, facts, more } = approval
  return shell(view, {
    title: t.title,
    problems: errors,
    card: true,
    main: html`<h1>${t.title}</h1>
      <p class="lead">${fill(t.lead, { name: approval.requestedName })}</p>
      ${approval.hasMakerLeft && message('warning', fill(t.makerLeft, { name: approval.requestedName }))}
      <dl class="signed">
        ${facts.map(
          ([label, value, form]) =>
            html`<div>
              <dt>${label}</dt>
              <dd ${form !== undefined && html` class="${form}"`}>${value}</dd>
            </div>`,
        )}
      </dl>
      ${more} ${approval.beyond === undefined ? confirmation(view, approval) : overMaximum(view, t, approval.beyond)}
      ${rejection(view, approval)}
      <p class="foot"><a href="${view.root}${approval.path}">${t.back}</a></p>`,
  })
}

function overMaximum(
  view: ConsoleView,
  words: ConsoleTexts['approvals'],
  { currency, most, left, resetsAt }: ExceededMaximum,
): Html {
  const money = (amount: string) => `${formatGrouped(view.language, amount)} ${currency}`
  const { beyond, beyondUntil } = words
  const text = fill(beyond, { most: money(most), left: money(left) })
  return html`${message('warning', text)}
    <p>${beyondUntil} ${time(view, resetsAt)}</p>`
}

function confirmation(view: ConsoleView, approval: Approval): Html {
  const { words: t, path, label, nonce, passkeyOptions: options, needsPasskey, errors = {} } = approval
  const action = `${view.root}${path}/approve`
  if (options !== undefined)
    return passkeyForm(view, {
      action,
      kind: 'get',
      options,
      label,
      title: t.passkeyTitle,
      text: t.passkeyText,
      fields: [['nonce', nonce]],
    })
  if (needsPasskey) return message('warning', t.passkeyOnly)
  return html`<section class="way" aria-labelledby="code-title">
    <h2 id="code-title">${t.codeTitle}</h2>
    <p>${t.codeText}</p>
    <form method="post" action="${action}">
      ${hiddenField('nonce', nonce)}
      ${input(
        view,
        { values: {}, problems: errors },
        {
          name: 'code',
          label: view.t.code,
          help: view.t.codeHelp,
          keys: 'numeric',
          autocomplete: 'one-time-code',
          charsMax: codeCharsMax,
        },
      )}
      <button type="submit" class="primary">${label}</button>
    </form>
  </section>`
}

function rejection(view: ConsoleView, { words: t, path, payouts, errors = {} }: Approval): Html {
  return html`<details class="way" ${errors['reason'] !== undefined && html` open`}>
    <summary>${t.rejectTitle}</summary>
    <form method="post" action="${view.root}${path}/reject">
      ${payouts !== undefined && hiddenField('payouts', String(payouts))}
      ${input(
        view,
        { values: {}, problems: errors },
        {
          name: 'reason',
          label: t.reason,
          help: t.reasonHelp,
          charsMax: referenceCharsMax,
        },
      )}
      <button type="submit" class="danger">${t.reject}</button>
    </form>
  </details>`
}

type SeenApproval = Pick<
  Approval,
  'facts' | 'label' | 'more' | 'needsPasskey' | 'payouts' | 'requestedName' | 'hasMakerLeft'
> & {
  readonly text: string
  readonly beyond: BeyondMaximum | undefined
}

/** A kind of approval: how the page reads it, and the operations that decide. */
type Subject = {
  /** `payouts`, as in `/console/payouts/{id}/approve`. */
  readonly place: 'payouts' | 'bulk-payouts'
  readonly wordsOf: (view: ConsoleView) => ConsoleTexts['approvals']
  /** Reads the text that the person signs and the facts of the page. Refuses as the approval does. */
  readonly see: (view: ConsoleView, call: Call, id: string, asked: ApprovalChallenge) => Promise<SeenApproval>
  readonly approve: (call: Call, id: string, seen: SeenApproval) => Promise<unknown>
  readonly reject: (call: Call, id: string, form: (name: string) => string) => Promise<unknown>
}

type ApprovalChallenge = { readonly nonce: string; readonly expiresAt: Date }

type Call = Pick<Parameters<Frame['operate']>[1], 'caller' | 'requestId' | 'ip'>

const payoutSubject = ({ operate, payouts }: Frame): Subject => ({
  place: 'payouts',
  wordsOf: ({ language }) => texts[language].approvals,
  see: async (view, call, id, asked) => {
    const t = texts[view.language].approvals
    const { payout, cause, ...seen } = await payouts.snapshot(call.caller, id, asked)
    const { repeats, note } = await readNoteAndRepeats(operate, call, payout.id)
    const { amount, currency, creditorName, creditorAccount, reference, remittance, approvalExpiresAt, createdAt } =
      payout
    const counted = parseReference(payout.referenceAmount)
    const named = { reference, userReference: remittance ?? undefined }
    const signed = serviceReference(named)
    const sum = `${formatGrouped(view.language, amountText(amount, currency))} ${currency}`
    return {
      ...seen,
      label: fill(t.approve, { amount: sum }),
      facts: [
        [t.amount, sum, 'sum'],
        ...(counted === undefined || counted.rate === '1' ? [] : [[t.counted, countedText(view, counted)] as const]),
        [t.payee, creditorName],
        [t.account, formatAccount(creditorAccount), 'code'],
        [t.reference, referenceText(named), 'code'],
        // The signed text contains the reference of the service.
        ...(signed === undefined ? [] : [[t.serviceReference, signed, 'code'] as const]),
        ...(note === undefined ? [] : [[texts[view.language].sending.note, note] as const]),
        [t.validUntil, time(view, approvalExpiresAt ?? createdAt)],
      ],
      more: html`${cause === 'payee' && message('warning', t.payeeMismatch)} ${duplicatesSection(view, repeats)}`,
    }
  },
  approve: (call, id) => operate('approvePayout', { ...call, params: { id } }),
  reject: (call, id, form) =>
    operate('rejectPayout', { ...call, params: { id }, body: { reason: form('reason').trim() } }),
})

/** Reads the note and possible duplicates, if the person may read payouts. */
async function readNoteAndRepeats(operate: Frame['operate'], call: Call, id: string) {
  if (!call.caller.permissions.includes('payouts:read')) return { repeats: noDuplicates, note: undefined }
  const [repeats, { note }] = await Promise.all([
    operate('listPayoutDuplicates', { ...call, params: { id } }),
    operate('getPayoutNote', { ...call, params: { id } }),
  ])
  return { repeats, note }
}

/** Formats the amount that counts towards limits across all currencies, with its rate. */
const countedText = (
  { language }: ConsoleView,
  { amount, currency, rate, rateOn }: NonNullable<ReturnType<typeof parseReference>>,
) => {
  const sum = `${formatGrouped(language, amountText(amount, currency))} ${currency}`
  return fill(texts[language].approvals.countedText, { amount: sum, rate, day: rateOn })
}

type WaitingBulk = Awaited<ReturnType<Frame['bulkPayouts']['snapshot']>>

/** Maximum payouts that the page lists, largest first. */
const listedPayoutsMax = 10

const bulkSubject = ({ operate, bulkPayouts }: Frame): Subject => ({
  place: 'bulk-payouts',
  wordsOf: ({ language }) => texts[language].bulkApprovals,
  see: async (view, { caller }, id, asked) => {
    if (!isUuid(id)) throw notFound('bulk')
    const t = texts[view.language].bulkApprovals
    const { payouts, totals, expiresAt, requesters, ...seen } = await bulkPayouts.snapshot(caller, id, asked)
    const sums = totals.map(
      ({ amount, currency }) => `${formatGrouped(view.language, amountText(amount, currency))} ${currency}`,
    )
    const count = payouts.length.toLocaleString(view.language)
    const name = (await bulkPayouts.names(caller.partnerId, [id])).get(id)
    return {
      ...seen,
      payouts: payouts.length,
      requestedName: requesters.map(({ requestedName }) => requestedName).join(', '),
      label: fill(t.approve, { count, amount: sums.join(', ') }),
      facts: [
        [t.amount, sums.join(', '), 'sum'],
        [t.payouts, count, 'sum'],
        ...(name === undefined ? [] : [[texts[view.language].bulk.file, freeText(name)] as const]),
        [t.validUntil, time(view, expiresAt)],
      ],
      more: largestPayouts(view, id, payouts),
    }
  },
  approve: (call, bulkId, { payouts = 0 }) =>
    operate('approveBulkPayout', { ...call, params: { bulkId }, body: { payouts } }),
  reject: (call, bulkId, form) => {
    const body = { payouts: Number(form('payouts')), reason: form('reason').trim() }
    return operate('rejectBulkPayout', { ...call, params: { bulkId }, body })
  },
})

function largestPayouts(view: ConsoleView, id: string, payouts: WaitingBulk['payouts']): Html {
  const t = texts[view.language].bulkApprovals
  const shown = payouts.toSorted((one, other) => (one.amount < other.amount ? 1 : -1)).slice(0, listedPayoutsMax)
  return html`<section aria-labelledby="largest-title">
    <h2 id="largest-title">${t.largest}</h2>
    ${table({
      caption: t.largest,
      columns: [[t.payee, 'head'], t.reference, t.account, [t.amount, 'number']],
      rows: shown.map(({ id: payoutId, creditorName, creditorAccount, reference, remittance, amount, currency }) => [
        html`<a href="${view.root}payouts/${payoutId}">${creditorName}</a>`,
        referenceCell({ reference, userReference: remittance ?? undefined }),
        html`<span class="code">${formatAccount(creditorAccount)}</span>`,
        money(view, amountText(amount, currency), currency),
      ]),
    })}
    <p><a href="${view.root}bulk-payouts/${id}">${t.all}</a></p>
  </section>`
}

type Errors = Readonly<Record<string, string>>

export const approvalRoutes: Routes = (frame) =>
  [payoutSubject(frame), bulkSubject(frame)].flatMap((subject) => subjectRoutes(frame, subject))

function subjectRoutes({ signIn, withMoney }: Frame, subject: Subject): readonly PublicRoute[] {
  const { place } = subject
  /** Shows the approval. After the decision, the page of the payout shows the outcome. */
  const show = async (request: PublicRequest, person: Person, errors?: Errors): Promise<PublicAnswer> => {
    const { caller, user, view } = person
    const id = readId(request)
    const asking = signIn.newPrompt(caller.partnerId, user.id, 'approval')
    const { requestId, ip } = request
    const { text, beyond, ...seen } = await subject.see(view, { caller, requestId, ip }, id, asking)
    const shown = {
      ...seen,
      words: subject.wordsOf(view),
      path: `${place}/${id}`,
      nonce: asking.nonce,
      ...(beyond && { beyond: maximumTexts(beyond) }),
      passkeyOptions: await signIn.passkeyOptionsFor(caller.partnerId, user.id, text),
      ...(errors && { errors }),
    }
    const status = errors === undefined ? 200 : 400
    return page(request, status, approvalPage({ ...view, current: place }, shown))
  }
  const guarded = guardWith(withMoney, subject)
  const approve = async (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { caller, user, session, view } = person
    const { requestId, ip } = request
    const id = readId(request)
    const form = readForm(request)
    const given: ConfirmationInput =
      form('credential') === ''
        ? { kind: 'code', code: form('code') }
        : { kind: 'passkey', credential: form('credential') }
    const asking = signIn.readPrompt(caller.partnerId, user.id, 'approval', form('nonce'))
    const seen = asking && (await subject.see(view, { caller, requestId, ip }, id, asking))
    const confirmation =
      asking && seen && (await signIn.confirm(caller.partnerId, user.id, { ...asking, text: seen.text }, given))
    if (confirmation === undefined || seen === undefined)
      return show(request, person, { form: subject.wordsOf(view).refused })
    await subject.approve({ caller: { ...caller, confirmation }, requestId, ip }, id, seen)
    const token = await signIn.rotate(caller.partnerId, session.id)
    return seeOther(`../${id}?done=approved`, sessionCookieFor(token))
  }
  const reject = async (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { caller, view } = person
    const { requestId, ip } = request
    const id = readId(request)
    try {
      await subject.reject({ caller, requestId, ip }, id, readForm(request))
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'validation_failed') throw error
      return show(request, person, { reason: subject.wordsOf(view).reasonWrong })
    }
    return seeOther(`../${id}?done=rejected`)
  }
  return [
    {
      method: 'GET',
      path: `/console/${place}/{id}/approve`,
      handle: guarded((request, person) => show(request, person)),
    },
    { method: 'POST', path: `/console/${place}/{id}/approve`, handle: guarded(approve) },
    { method: 'POST', path: `/console/${place}/{id}/reject`, handle: guarded(reject) },
  ]
}

/** Formats the amounts of a maximum for the page. */
const maximumTexts = ({ currency, most, left, resetsAt }: BeyondMaximum) => ({
  currency,
  most: amountText(most, currency),
  left: amountText(left, currency),
  resetsAt,
})

type Act = (request: PublicRequest, person: Person) => Promise<PublicAnswer>

/** Shows an explanation instead if the payout does not await approval by this person. */
const guardWith =
  (withMoney: WithPerson, subject: Subject) =>
  (act: Act): PublicRoute['handle'] =>
  (request) =>
    withMoney(request, async (person) => {
      const { view, caller } = person
      const t = subject.wordsOf(view)
      const refuse = (status: number, text: string) => page(request, status, consoleMessagePage(view, t.title, text))
      if (!caller.permissions.includes('payouts:write')) return refuse(403, t.noPermission)
      try {
        return await act(request, person)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        if (error.code === 'approver_is_creator') return refuse(403, t.creator)
        if (error.code === 'approver_limit_exceeded') return refuse(403, t.beyondNow)
        if (error.code === 'payout_not_awaiting_approval') return refuse(409, t.notWaiting)
        if (error.code === 'permission_denied') return refuse(403, error.detail)
        throw error
      }
    })
