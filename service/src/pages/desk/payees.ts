/** The page of a payee, and the list of a partner's payees. The operator's audit log records who opened which payee. */
import { ifFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { after, hourMs, partnerKey } from '../../kernel/index.ts'
import type { Beneficiaries, StoredPayee } from '../../parties/beneficiaries/index.ts'
import { isIban } from '../../rails/index.ts'
import {
  account,
  badge,
  facts,
  freeText,
  heading,
  identifier,
  linkButton,
  message,
  section,
  summaryStrip,
  time,
  nameCheckTones,
} from '../kit/parts.ts'
import { list } from '../kit/lists.ts'
import { countryName } from '../kit/countries.ts'
import { pathWithQuery, page } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { actionButtons, type ActionName, actionMessage } from './acts.ts'
import { noteMessage, searchForm } from './customers.ts'
import {
  payeeAccount,
  boundedSection,
  customerHref,
  hitsTable,
  notesSection,
  partnerReference,
  payeeHref,
  payeesTable,
  paymentsTable,
} from './parties.ts'
import { limitsTable, type PrintedLimit } from './printed.ts'
import { type DeskFrame, readKey, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

const rowsShown = 10

type NameCheck = Awaited<ReturnType<Beneficiaries['verificationOf']>>

type PayeeDetails = {
  readonly partnerId: string
  readonly partnerName: string | undefined
  /** A removed payee keeps its last name and account. */
  readonly payee: StoredPayee
  /** Absent if the partner owns the payee. */
  readonly customerName: string | undefined
  /** The last verification of payee. Undefined if there was none. */
  readonly check: NameCheck | undefined
  /** The end of the cooling-off. Null if there is none. */
  readonly coolingUntil: Date | null
  readonly payments: Parameters<typeof paymentsTable>[1]
  readonly hits: Parameters<typeof hitsTable>[1]
  readonly limits: readonly PrintedLimit[]
  readonly notes: Parameters<typeof notesSection>[1]['notes']
  readonly acts: Html | undefined
  readonly said: Html | undefined
}

export function payeePage(view: ConsoleView, shown: PayeeDetails): string {
  const texts = deskTexts[view.language]
  const [d, p] = [texts.parties, texts.payeePage]
  const { partnerId, payee, payments, hits, limits, coolingUntil } = shown
  const { customerId, removedAt } = payee
  return shell(view, {
    title: payee.name,
    wide: true,
    main: html`${shown.said}
      <h1>${payee.name}</h1>
      <p class="lead">${d.opensRecorded}</p>
      ${removedAt !== null && html`<p class="message warning">${p.removed} ${time(view, removedAt)}</p>`}
      ${summaryStrip([
        [d.partner, partnerReference(view, partnerId, shown.partnerName)],
        [
          p.owner,
          customerId === null
            ? d.own
            : html`<a href="${view.root}${customerHref(partnerId, customerId)}"
                >${freeText(shown.customerName ?? d.customer)}</a
              >`,
        ],
        [d.currency, payee.currency],
        [d.country, payee.country === null ? '–' : countryName(view, payee.country)],
      ])}
      ${shown.acts}
      ${section(
        'account',
        p.account,
        facts([
          [payee.walletAddress === null ? p.account : p.wallet, account(view, payeeAccount(payee))],
          [p.bic, payee.bic ?? undefined],
          [p.vasp, freeText(payee.vasp ?? undefined) || undefined],
          [p.alias, freeText(payee.alias ?? undefined) || undefined],
          [d.created, time(view, payee.createdAt)],
          [p.unchanged, time(view, payee.unchangedSince)],
          [d.id, identifier(view, payee.id, d.id)],
        ]),
      )}
      ${checkPart(view, shown)}
      ${
        removedAt === null &&
        section(
          'cooling-off',
          p.coolingOff,
          coolingUntil === null
            ? html`<p>${p.coolingNone}</p>`
            : html`<p>${badge('warning', p.coolingUntil)} ${time(view, coolingUntil)}</p>`,
        )
      }
      ${boundedSection(view, {
        ...{ id: 'limits', title: p.limits, rows: limits.length },
        body: limitsTable(view, limits, p.limits),
      })}
      ${boundedSection(view, {
        ...{ id: 'payments', title: d.payments, rows: payments.length, body: paymentsTable(view, payments) },
        all: pathWithQuery(`partners/${partnerId}/payments`, { payee: payee.id }),
      })}
      ${boundedSection(view, { id: 'hits', title: d.hits, rows: hits.length, body: hitsTable(view, hits, d.hits) })}
      ${notesSection(view, {
        about: { partnerId, kind: 'payee', subjectId: payee.id },
        notes: shown.notes,
      })}`,
  })
}

function checkPart(view: ConsoleView, { check }: PayeeDetails): Html {
  const p = deskTexts[view.language].payeePage
  const body =
    check === undefined
      ? message('neutral', p.checkNone)
      : facts([
          [p.nameCheck, badge(nameCheckTones[check.result], p[check.result])],
          [p.foundName, freeText(check.matchedName ?? undefined) || undefined],
          [p.checkedAt, time(view, check.answeredAt)],
        ])
  return section('check', p.nameCheck, body)
}

type PayeeList = {
  readonly partnerId: string
  readonly partnerName: string
  readonly q: string
  /** Set if the list is limited to the payees of one customer. */
  readonly customerId?: string | undefined
  readonly payees: Parameters<typeof payeesTable>[2]
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function payeesPage(view: ConsoleView, shown: PayeeList): string {
  const d = deskTexts[view.language].parties
  const { partnerId, partnerName, q, payees, next, first, customerId } = shown
  const path = `${view.root}partners/${partnerId}`
  const back =
    customerId === undefined
      ? linkButton(path, d.partner)
      : linkButton(`${view.root}${customerHref(partnerId, customerId)}`, d.customer)
  return shell(view, {
    title: `${d.payees}: ${partnerName}`,
    wide: true,
    main: html`${heading(`${d.payees}: ${partnerName}`, back)}
    ${searchForm(view, { path: `${path}/payees`, q, label: d.searchPayees })}
    ${list(view, {
      table: payeesTable(view, partnerId, payees),
      ...{ isEmpty: payees.length === 0, isFiltered: q !== '', none: { title: d.none, text: d.newest } },
      pages: { next, first },
    })}`,
  })
}

/** Finds payees by an IBAN or the beginning of a name. */
export async function searchPayees(
  beneficiaries: Pick<Beneficiaries, 'list' | 'named'>,
  partnerId: string,
  typed: string,
  rowsMax: number,
): Promise<Parameters<typeof payeesTable>[2]> {
  const iban = typed.replaceAll(/\s/g, '').toUpperCase()
  if (isIban(iban)) return (await beneficiaries.list(partnerId, { iban, limit: String(rowsMax) })).data
  return beneficiaries.named(partnerId, typed, rowsMax)
}

const payeeActs: readonly ActionName[] = ['limit set', 'cooling-off set']

export const payeeRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'partners', 'GET', '/payees/{partnerId}/{id}', (request, person) =>
    showPayee(frame, request, person),
  ),
]

async function showPayee(frame: DeskFrame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, signed } = person
  const { db, access, beneficiaries, changes, screening, staff, transactions } = frame
  const { partnerId, id } = readKey(request)
  const [payee] = await beneficiaries.withIds(partnerId, [id])
  if (payee === undefined) throw new Refusal('not_found')
  await staff.recordOpened(signed, 'payee', [`${partnerId}/${id}`])
  const names = await access.namesOf(db, [partnerId])
  const limits = (await changes.read('limit list', { partner: partnerId })) as readonly PrintedLimit[]
  const payments = await transactions.list(partnerId, { beneficiaryId: id, limit: String(rowsShown) })
  const href = payeeHref(partnerId, id)
  const given = { partner: partnerId, beneficiary: id, scope: 'beneficiary', currency: payee.currency }
  const body = payeePage(view, {
    ...{ partnerId, payee, partnerName: names.get(partnerId) },
    customerName: await readCustomerName(frame, partnerId, payee.customerId),
    check: await ifFound(beneficiaries.verificationOf(partnerId, id)),
    coolingUntil: await coolingUntil(frame, partnerId, payee),
    payments: await transactions.withUsers(payments.data),
    hits: await screening.about(db, partnerId, [id], rowsShown),
    limits: limits.filter(({ scopeId }) => scopeId === id),
    notes: await staff.notes.of(db, { partnerId, kind: 'payee', subjectId: id }, undefined, rowsShown),
    acts:
      payee.removedAt === null
        ? actionButtons(view, { ...frame, person }, { acts: payeeActs, given, back: href })
        : undefined,
    said: noteMessage(view, request) ?? actionMessage(view, request),
  })
  return page(request, 200, body)
}

/** Reads the name or the email address of a customer. Undefined for the partner itself, and for an erased customer. */
export async function readCustomerName({ db, customers }: DeskFrame, partnerId: string, id: string | null) {
  if (id === null) return undefined
  const users = await customers.usersByIds(db, [{ partnerId, id }])
  const user = users.get(partnerKey(partnerId, id))
  return user?.name ?? user?.email
}

/** Reads the end of the cooling-off, which begins with the payee's last change. */
async function coolingUntil({ clock, changes }: DeskFrame, partner: string, payee: StoredPayee): Promise<Date | null> {
  const rules = (await changes.read('cooling-off list', { partner })) as readonly {
    readonly currency: string
    readonly hours: number
  }[]
  const rule = rules.find(({ currency }) => currency === payee.currency)
  if (rule === undefined) return null
  const until = after(payee.unchangedSince, rule.hours * hourMs)
  return until > clock.now() ? until : null
}
