/** The page of overdue customer reviews, the longest overdue first, and of customers without a review. */
import { notFound, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { partnerKey, uuidPattern } from '../../kernel/index.ts'
import type { CustomerReview } from '../../parties/customers/index.ts'
import { isCalendarDay } from '../../reports/safeguarding/index.ts'
import { badge, calendarDay, freeText, heading, linkButton, table, time } from '../kit/parts.ts'
import { pager } from '../kit/lists.ts'
import { page } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { actionHref, actionTitle } from './acts.ts'
import { customerHref, levelTones, partnerReference, tableOrEmpty } from './parties.ts'
import { type DeskFrame, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

type ReviewList = {
  readonly reviews: readonly (CustomerReview & {
    readonly name: string | undefined
    readonly partnerName: string | undefined
  })[]
  readonly mayRecord: boolean
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function reviewsPage(view: ConsoleView, { reviews, mayRecord, next, first }: ReviewList): string {
  const d = deskTexts[view.language].reviews
  return shell(view, {
    title: d.reviews,
    wide: true,
    main: html`<h1>${d.reviews}</h1>
      <p class="lead">${d.reviewsText}</p>
      ${tableOrEmpty({
        none: { title: d.none, text: d.noneText },
        caption: d.reviews,
        columns: [[d.customer, 'head'], d.partner, d.due, d.risk, d.reviewed, d.by],
        rows: reviews.map(({ customerId, partnerId, name, partnerName, dueOn, risk, reviewedAt, reviewedBy }) => [
          html`<a href="${view.root}${customerHref(partnerId, customerId)}">${freeText(name ?? d.customer)}</a>
            ${mayRecord && recordLink(view, partnerId, customerId)}`,
          partnerReference(view, partnerId, partnerName),
          calendarDay(view, dueOn),
          badge(levelTones[risk], d[risk]),
          time(view, reviewedAt),
          freeText(reviewedBy),
        ]),
      })}
      ${pager(view, { next, first })}`,
  })
}

const recordLink = (view: ConsoleView, partner: string, customer: string): Html =>
  linkButton(
    `${view.root}${actionHref('review set', { partner, customer }, 'reviews')}`,
    actionTitle(view, 'review set'),
    'small',
  )

type UnreviewedCustomers = {
  readonly partnerId: string
  readonly partnerName: string
  readonly customers: readonly {
    readonly customerId: string
    readonly name: string | undefined
    readonly createdAt: Date
  }[]
  readonly mayRecord: boolean
}

/** Renders the page of a partner's customers without a review, oldest first. */
export function unreviewedPage(view: ConsoleView, shown: UnreviewedCustomers): string {
  const texts = deskTexts[view.language]
  const [d, p] = [texts.reviews, texts.parties]
  const { partnerId, partnerName, customers, mayRecord } = shown
  const title = `${p.reviewsMissing}: ${partnerName}`
  return shell(view, {
    title,
    wide: true,
    main: html`${heading(title, linkButton(`${view.root}partners/${partnerId}`, p.partner))}
    ${
      customers.length === 0
        ? html`<p>${p.none}</p>`
        : table({
            caption: title,
            columns: [[d.customer, 'head'], p.created, [texts.act.list, 'actions']],
            rows: customers.map(({ customerId, name, createdAt }) => [
              html`<a href="${view.root}${customerHref(partnerId, customerId)}">${freeText(name ?? d.customer)}</a>`,
              time(view, createdAt, 'date'),
              mayRecord ? recordLink(view, partnerId, customerId) : '',
            ]),
          })
    }`,
  })
}

const reviewsShown = 50

export function reviewRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, access, changes, customers, partners, staff } = frame
  /** Reads the names of customers, and records the access in the operator's audit log. */
  const namesOf = async (
    { signed }: Person,
    rows: readonly { readonly partnerId: string; readonly customerId: string }[],
  ) => {
    const keys = rows.map(({ partnerId, customerId: id }) => ({ partnerId, id }))
    const users = await customers.usersByIds(db, keys)
    await staff.recordOpened(
      signed,
      'customers',
      keys.map(({ partnerId, id }) => `${partnerId}/${id}`),
    )
    return ({ partnerId, customerId }: (typeof rows)[number]) => {
      const user = users.get(partnerKey(partnerId, customerId))
      return user?.name ?? user?.email
    }
  }
  return [
    staffRoute(frame, 'reviews', 'GET', '/reviews', async (request, person) => {
      const after = readCursor(request)
      const rows = await customers.reviews.overduePage(db, { after, rowsMax: reviewsShown + 1 })
      const shown = rows.slice(0, reviewsShown)
      const last = rows.length > reviewsShown ? shown.at(-1) : undefined
      const next = last && `reviews?due=${last.dueOn}&after=${last.customerId}`
      const nameOf = await namesOf(person, shown)
      const partnerNames = await access.namesOf(db, [...new Set(shown.map(({ partnerId }) => partnerId))])
      const reviews = shown.map((row) => ({ ...row, name: nameOf(row), partnerName: partnerNames.get(row.partnerId) }))
      const mayRecord = changes.mayDecide('review set', person.signed.account.role)
      return page(request, 200, reviewsPage(person.view, { reviews, mayRecord, next, first: after && 'reviews' }))
    }),
    staffRoute(frame, 'partners', 'GET', '/partners/{id}/unreviewed', async (request, person) => {
      const { id = '' } = request.params
      const partner = uuidPattern.test(id) ? await partners.byId(db, id) : undefined
      if (partner === undefined) throw notFound('partner')
      const rows = (await customers.reviews.missing(db, id)).slice(0, unreviewedShown)
      const nameOf = await namesOf(
        person,
        rows.map(({ customerId }) => ({ partnerId: id, customerId })),
      )
      const shown = rows.map((row) => ({ ...row, name: nameOf({ partnerId: id, customerId: row.customerId }) }))
      const mayRecord = changes.mayDecide('review set', person.signed.account.role)
      const given = { partnerId: id, partnerName: partner.name, customers: shown, mayRecord }
      return page(request, 200, unreviewedPage(person.view, given))
    }),
  ]
}
const unreviewedShown = 100

/** Reads the cursor: the last row of the previous page. Undefined on the first page. */
function readCursor({ query }: PublicRequest) {
  const fields = new URLSearchParams(query)
  const [dueOn, customerId] = [fields.get('due') ?? '', fields.get('after') ?? '']
  return isCalendarDay(dueOn) && uuidPattern.test(customerId) ? { dueOn, customerId } : undefined
}
