/** A new payout: choose the payee, fill in the form, check the preview, send. */
import { decimalText, payouts, rawNumber, referenceCharsMax, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { isCurrency, newId } from '../../kernel/index.ts'
import { firstSettlementDay } from '../../rails/index.ts'
import type { PartnerHold } from '../../transactions/index.ts'
import { html, type Html } from '../html.ts'
import { amountCharsMax, formPage, hiddenFields, type FieldProblems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import {
  account,
  badge,
  calendarDay,
  dayText,
  facts,
  message,
  money,
  moneyText,
  section,
  table,
  time,
  wordFor,
} from '../kit/parts.ts'
import {
  pathWithQuery,
  page,
  queryText,
  readAmount,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { choosePayee } from './payee-choice.ts'
import { payeeRow } from './payees.ts'
import {
  payAgainBox,
  hasDuplicates,
  isDuplicateRefusal,
  type PossibleDuplicates,
  duplicatesInPreview,
  duplicatesSection,
} from './repeats.ts'
import { amountProblem, callOf, type Frame, type Person, refusalProblems, type Routes, placeRoutes } from './request.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'

type PayoutDraft = {
  readonly beneficiaryId: string
  readonly payee: string
  readonly payeeAccount: string
  readonly currency: string
  /** The amount as typed. */
  readonly amount: string
  readonly reference: string
  /** A note for colleagues. Empty: none. */
  readonly note: string
  /** `YYYY-MM-DD`. Empty: now. */
  readonly payOn: string
  readonly idempotencyKey: string
  readonly problems: FieldProblems
}

export function newPayoutPage(view: ConsoleView, draft: PayoutDraft): string {
  const p = texts[view.language].payments
  const s = texts[view.language].sending
  const { beneficiaryId, idempotencyKey, payee, payeeAccount, currency, problems, ...values } = draft
  return formPage(view, {
    title: p.newPayout,
    problems,
    before: facts([
      [p.payee, payee],
      [p.account, account(view, payeeAccount)],
    ]),
    action: 'payouts/new/preview',
    hidden: { beneficiaryId },
    idempotencyKey,
    values,
    fields: [
      {
        name: 'amount',
        label: fill(p.payoutAmount, { currency }),
        help: p.payoutAmountHelp,
        keys: 'decimal',
        charsMax: amountCharsMax,
      },
      {
        name: 'reference',
        label: p.payoutReference,
        help: p.payoutReferenceHelp,
        charsMax: referenceCharsMax,
        optional: true,
      },
      { name: 'payOn', label: s.payOn, help: s.payOnHelp, type: 'date', optional: true },
      { name: 'note', label: s.note, help: s.noteHelp, charsMax: payouts.noteCharsMax, optional: true },
    ],
    submit: p.preview,
    back: { path: 'payouts/new', text: p.otherPayee },
  })
}

type Rule = {
  readonly rule: string
  readonly verdict: 'passed' | 'warning' | 'failed' | 'notApplicable'
  readonly code?: string | undefined
  readonly detail?: string | undefined
  readonly hold?: PartnerHold | undefined
  readonly amounts?: ResponseOf<'previewFiatPayout'>['rules'][number]['amounts']
}

type PayoutPreview = PayoutDraft & {
  readonly fee: string
  readonly total: string
  readonly accepted: boolean
  readonly needsApproval: boolean
  /** The day of a scheduled payment: `payOn`, or the next business day. Absent: the payout is created now. */
  readonly paidOn?: string | undefined
  readonly rail?: string | undefined
  readonly cutOffAt?: Date | undefined
  /** Calendar days. The time of day is ignored. */
  readonly valueDate?: Date | undefined
  readonly arrivesOn?: Date | undefined
  readonly rules: readonly Rule[]
  readonly repeats: PossibleDuplicates
}

export function payoutPreviewPage(view: ConsoleView, preview: PayoutPreview): string {
  const p = texts[view.language].payments
  const s = texts[view.language].sending
  const { amount, currency, payee, payeeAccount, reference, note, rules, problems, paidOn } = preview
  const accepted = canBeSent(preview)
  const failsAtBank = accepted && rules.some(({ verdict }) => verdict === 'failed')
  return shell(view, {
    title: p.previewTitle,
    problems,
    main: html`<h1>${p.previewTitle}</h1>
      <p class="lead">${paidOn === undefined ? p.previewText : fill(s.laterText, { day: dayText(view, paidOn) })}</p>
      ${!accepted && message('bad', p.previewRefused)}
      ${failsAtBank && message('warning', paidOn === undefined ? p.previewFails : s.laterFails)}
      <section class="card" aria-labelledby="sum">
        <h2 id="sum" class="away">${p.payout}</h2>
        <p class="sum">${money(view, amount, currency)}</p>
        <p class="to">${payee}</p>
        <p>${account(view, payeeAccount)}</p>
        ${facts([
          [p.payoutReference, reference === '' ? undefined : reference],
          [s.note, note === '' ? undefined : note],
          [s.payOn, paidOn && calendarDay(view, paidOn)],
          [p.fee, money(view, preview.fee, currency)],
          [p.total, money(view, preview.total, currency)],
          [p.rail, preview.rail && wordFor(p.rails, preview.rail)],
          [p.cutOff, preview.cutOffAt && time(view, preview.cutOffAt)],
          [p.valueDate, preview.valueDate && time(view, preview.valueDate, 'date')],
          [p.arrives, preview.arrivesOn && time(view, preview.arrivesOn, 'date')],
        ])}
        ${buttons(view, preview)}
      </section>
      ${duplicatesSection(view, preview.repeats)} ${section('rules', p.rules, ruleTable(view, rules))}`,
  })
}

function buttons(view: ConsoleView, preview: PayoutPreview): Html {
  const p = texts[view.language].payments
  const s = texts[view.language].sending
  const { beneficiaryId, amount, currency, reference, note, payOn, idempotencyKey, needsApproval, paidOn } = preview
  const typed = { beneficiaryId, amount, reference, note, payOn }
  const change = pathWithQuery(
    `${view.root}payouts/new`,
    Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== '')),
  )
  const sum = moneyText(view, amount, currency)
  const now = needsApproval ? p.sendForApproval : p.send
  const label =
    paidOn === undefined ? fill(now, { amount: sum }) : fill(s.payLater, { amount: sum, day: dayText(view, paidOn) })
  const accepted = canBeSent(preview)
  const again = accepted && hasDuplicates(preview.repeats)
  return html`<form method="post" action="${view.root}payouts/new/send">
    ${hiddenFields({ ...typed, idempotencyKey })}
    ${again && payAgainBox(fill(s.again, { payee: preview.payee, amount: sum }), preview.problems['again'])}
    <div class="buttons">
      ${accepted && html`<button type="submit" class="primary">${label}</button>`}
      <a class="button" href="${change}">${p.change}</a>
    </div>
  </form>`
}

/**
 * Rules that are checked again on the day of the payment, because balances, limits and states may change until then.
 */
const rulesOfPaymentDay: readonly string[] = [
  'customer',
  'account',
  'payer',
  'coolingOff',
  'limit',
  'funds',
  'reach',
  'payeeCheck',
]
const canBeSent = ({ accepted, paidOn, rules }: PayoutPreview): boolean =>
  accepted ||
  (paidOn !== undefined &&
    rules.every(({ rule, verdict }) => verdict !== 'failed' || rulesOfPaymentDay.includes(rule.split('.')[0] ?? '')))

const tones = { passed: 'good', warning: 'warning', failed: 'bad', notApplicable: 'neutral' } as const

/** Rules whose English detail is more precise than the text of the page, unless amounts are shown. */
const rulesWithDetails: readonly string[] = ['limit', 'funds', 'approval']

/** Explains a rule that has no code. */
function ruleExplanation(
  p: ConsoleTexts['payments'],
  rule: string,
  verdict: Rule['verdict'],
  detail: string | undefined,
) {
  if (verdict === 'notApplicable' || detail === undefined) return undefined
  const known: Readonly<Record<string, string>> = p.ruleExplained
  return known[`${rule}.${verdict}`]
}

/** Derives whose money pays from the English detail of the service. */
const fundsText = ({ ruleExplained: r }: ConsoleTexts['payments'], detail = ''): string | undefined =>
  detail.endsWith('pooled.') ? r['funds.pooled'] : detail.endsWith('segregated.') ? r['funds.segregated'] : undefined

function ruleTable(view: ConsoleView, rules: readonly Rule[]): Html {
  const p = texts[view.language].payments
  return table({
    caption: p.rules,
    columns: [[p.rule, 'head'], p.outcome],
    rows: rules.map(({ rule, verdict, code, detail, hold, amounts = [] }) => {
      const [name = rule, ...scope] = rule.split('.')
      const known = code === undefined ? undefined : wordFor({ ...p.refusal, ...p.errorKey }, code)
      const held = hold && texts[view.language].holds.kinds[hold.kind].reason
      const words = held ?? (known !== code ? known : ruleExplanation(p, name, verdict, detail))
      // The page lists the possible duplicates.
      const isNeeded =
        name !== 'duplicate' &&
        (view.language === 'en' || words === undefined || (rulesWithDetails.includes(name) && amounts.length === 0))
      const payer =
        name === 'funds' && verdict === 'passed' && view.language !== 'en' ? fundsText(p, detail) : undefined
      const shown = payer === undefined && isNeeded ? detail : undefined
      return [
        html`${wordFor(p.ruleName, name)} ${scope.length > 0 && html`<span class="soft">${scope.join(', ')}</span>`}`,
        html`<span class="lines">
          ${verdict === 'passed' && hold !== undefined ? badge('warning', p.verdict.waits) : badge(tones[verdict], p.verdict[verdict])}
          ${words !== undefined && html`<span>${words}</span>`}
          ${payer !== undefined && html`<span class="soft">${payer}</span>`}
          ${(hold?.by ?? null) !== null && html`<span>${texts[view.language].holds.by} ${time(view, new Date(hold?.by ?? ''))}</span>`}
          ${shown !== undefined && html`<span class="soft" lang="en">${shown}</span>`}
          ${
            shown === undefined &&
            amounts.map(
              ({ kind, amount, currency }) =>
                html`<span class="soft"
                  >${fill(p.ruleAmount[kind], { amount: moneyText(view, decimalText(amount), currency) })}</span
                >`,
            )
          }
        </span>`,
      ]
    }),
  })
}

type TypedPayout = Pick<PayoutDraft, 'beneficiaryId' | 'amount' | 'reference' | 'note' | 'payOn' | 'idempotencyKey'>

const fields = ['amount', 'reference', 'note'] as const
const typedFields = ['beneficiaryId', 'amount', 'reference', 'note', 'payOn'] as const
const dayPattern = /^\d{4}-\d\d-\d\d$/
/** Characters that are refused in notes, because the API operation accepts only one line. */
const controlCharacters = /\p{Cc}/u

async function readDraft(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  typed: TypedPayout,
  problems: FieldProblems,
) {
  const payee = payeeRow(
    await operate('getBeneficiary', { ...callOf(person, request), params: { id: typed.beneficiaryId } }),
  )
  return { ...typed, payee: payee.name, payeeAccount: payee.account, currency: payee.currency, problems }
}

/** Checks the fields that the preview operation ignores. */
function checkTyped({ language }: Person['view'], { note, payOn }: TypedPayout, today: string): FieldProblems {
  const { noteWrong, payOnWrong } = texts[language].sending
  const isNote = note.length <= payouts.noteCharsMax && !controlCharacters.test(note)
  const isDay = payOn === '' || (dayPattern.test(payOn) && !Number.isNaN(Date.parse(payOn)) && payOn >= today)
  return { ...(isNote ? {} : { note: noteWrong }), ...(isDay ? {} : { payOn: payOnWrong }) }
}

type PayoutBody = { readonly reference?: string } & Record<'beneficiaryId' | 'currency' | 'idempotencyKey', string> & {
    readonly amount: ReturnType<typeof rawNumber>
  }
type Act = (body: PayoutBody, draft: PayoutDraft) => Promise<PublicAnswer>

/** Returns the day, or the next business day of the currency, as for a standing order. */
const paymentDay = ({ payOn, currency }: PayoutDraft): string =>
  isCurrency(currency) ? firstSettlementDay([currency], payOn) : payOn

function createForm(frame: Frame) {
  const today = () => frame.clock.now().toISOString().slice(0, 'YYYY-MM-DD'.length)
  const show = async (request: PublicRequest, person: Person, typed: TypedPayout, problems: FieldProblems = {}) => {
    const draft = await readDraft(frame, request, person, typed, problems)
    return page(request, pageStatus(problems), newPayoutPage(person.view, draft))
  }
  /** Reads the form and calls `act` with the body of a payout. A refusal shows the form again as it was typed. */
  const withBody = async (request: PublicRequest, person: Person, act: Act): Promise<PublicAnswer> => {
    const p = texts[person.view.language].payments
    const given = readForm(request)
    const typed = {
      beneficiaryId: given('beneficiaryId'),
      amount: given('amount'),
      reference: given('reference').trim(),
      note: given('note').trim(),
      payOn: given('payOn').trim(),
      idempotencyKey: given('idempotencyKey') || newId(),
    }
    const amount = readAmount(typed.amount)
    const problems = {
      ...(amount === undefined ? { amount: amountProblem(person.view, typed.amount) } : {}),
      ...checkTyped(person.view, typed, today()),
    }
    if (amount === undefined || Object.keys(problems).length > 0) return show(request, person, typed, problems)
    const draft = await readDraft(frame, request, person, { ...typed, amount }, {})
    const { beneficiaryId, currency, reference, idempotencyKey } = draft
    const body = { amount: rawNumber(amount), beneficiaryId, currency, idempotencyKey, ...(reference && { reference }) }
    try {
      return await act(body, draft)
    } catch (error) {
      return show(
        request,
        person,
        typed,
        refusalProblems(p, error, fields, { amount: amountProblem(person.view, typed.amount) }),
      )
    }
  }
  return { show, withBody, isLater: ({ payOn }: PayoutDraft) => payOn > today() }
}

export const newPayoutRoutes: Routes = (frame) => {
  const { operate } = frame
  const { show, withBody, isLater } = createForm(frame)
  const begin = (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { beneficiaryId, ...given } = readQuery(request, typedFields)
    if (beneficiaryId === undefined) return choosePayee(frame, request, person, 'payouts')
    const { amount = '', reference = '', note = '', payOn = '' } = given
    return show(request, person, { beneficiaryId, amount, reference, note, payOn, idempotencyKey: newId() })
  }
  const judge = async (request: PublicRequest, person: Person, body: PayoutBody, draft: PayoutDraft) => {
    const later = isLater(draft)
    const asked = { ...body, ...(later ? { payOn: draft.payOn } : {}) }
    const found = await operate('previewFiatPayout', { ...callOf(person, request), body: asked })
    const { accepted, status, rail, rules } = found
    // The preview is for today; a scheduled payment has other days.
    const day = (text: string | undefined) => (text === undefined || later ? undefined : new Date(text))
    return {
      ...draft,
      amount: decimalText(found.amount),
      accepted,
      rail,
      rules,
      repeats: duplicatesInPreview(rules),
      ...(later && { paidOn: paymentDay(draft) }),
      fee: decimalText(found.fee),
      total: decimalText(found.total),
      needsApproval: status === 'PendingApproval',
      cutOffAt: day(found.cutOffAt),
      valueDate: day(found.valueDate),
      arrivesOn: day(found.arrivesOn),
    }
  }
  const preview = (request: PublicRequest, person: Person): Promise<PublicAnswer> =>
    withBody(request, person, async (body, draft) => {
      const judged = await judge(request, person, body, draft)
      return page(request, 200, payoutPreviewPage(person.view, judged))
    })
  /** Shows the preview again with a checkbox that confirms the possible duplicate. */
  const askAgain = (request: PublicRequest, person: Person, judged: PayoutPreview): PublicAnswer => {
    const { againNeeded } = texts[person.view.language].sending
    const problems: FieldProblems = canBeSent(judged) ? { again: againNeeded } : {}
    return page(request, pageStatus(problems), payoutPreviewPage(person.view, { ...judged, problems }))
  }
  const schedule = async (
    request: PublicRequest,
    person: Person,
    body: PayoutBody,
    draft: PayoutDraft,
    again: boolean,
  ) => {
    const { idempotencyKey, ...paid } = body
    const { id } = await operate('createStandingOrder', {
      ...callOf(person, request),
      idempotencyKey,
      body: {
        ...paid,
        ...(draft.note && { note: draft.note }),
        onDuplicate: again ? 'Allow' : 'Refuse',
        schedule: { frequency: 'Once', startsOn: draft.payOn },
      },
    })
    return seeOther(`../../standing-orders/${id}?done=scheduled`)
  }
  const pay = async (request: PublicRequest, person: Person, body: PayoutBody, draft: PayoutDraft, again: boolean) => {
    const call = callOf(person, request)
    await operate('createFiatPayout', { ...call, body: { ...body, onDuplicate: again ? 'Allow' : 'Refuse' } })
    // The response of this operation does not contain the id.
    const { idempotencyKey, beneficiaryId } = body
    const { data } = await operate('listPayouts', { ...call, query: queryText({ idempotencyKey, beneficiaryId }) })
    const [payout] = data
    if (payout === undefined) return seeOther('../../payouts')
    if (draft.note !== '')
      await operate('setPayoutNote', { ...call, params: { id: payout.id }, body: { note: draft.note } })
    return seeOther(`../${payout.id}?done=created`)
  }
  const send = (request: PublicRequest, person: Person): Promise<PublicAnswer> =>
    withBody(request, person, async (body, draft) => {
      const again = readForm(request)('again') === 'yes'
      try {
        return await (isLater(draft) ? schedule : pay)(request, person, body, draft, again)
      } catch (error) {
        if (!isDuplicateRefusal(error)) throw error
        return askAgain(request, person, await judge(request, person, body, draft))
      }
    })
  const route = placeRoutes(frame, frame.withMoney, 'payouts')
  return [
    route('GET', '/new', 'payouts:write', (_frame, request, person) => begin(request, person)),
    route('POST', '/new/preview', 'payouts:write', (_frame, request, person) => preview(request, person)),
    route('POST', '/new/send', 'payouts:write', (_frame, request, person) => send(request, person)),
  ]
}
