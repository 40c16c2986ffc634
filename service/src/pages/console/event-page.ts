/** The events of a partner, and the page of one with its data and its deliveries. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { call, copyButton, field, hiddenField, message, table, time } from './components.ts'
import { facts, filters, freeText, identifier, list, type Options, type Pages, select, strip } from './lists.ts'
import { linkOf, type Problems, type Values } from './payments-request.ts'
import { developerTexts } from './texts/developers.ts'
import { eventTexts } from './texts/events.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'
import { attemptsOf, deliveryBadge, type DeliveryRow } from './webhooks-page.ts'

export const eventFilters: readonly string[] = ['types', 'reference']

export type EventRow = {
  readonly id: string
  readonly type: string
  readonly reference: string
  readonly occurredAt: Date
}

type Events = {
  readonly rows: readonly (EventRow & { readonly sequence: number })[]
  readonly types: readonly string[]
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
}

export function eventsPage(view: ConsoleView, { rows, types, values, problems, pages }: Events): string {
  const e = eventTexts[view.language]
  const options: Options = types.map((type) => [type, type])
  const isFiltered = Object.keys(values).length > 0
  return shell(view, {
    title: view.t.events,
    wide: true,
    problems,
    main: html`<h1>${view.t.events}</h1>
      <p class="lead">${e.lead}</p>
      ${filters(view, {
        path: `${view.root}events`,
        main: [
          select({
            ...{ id: 'types', name: 'types', label: e.type, value: values['types'], error: problems['types'] },
            ...{ options, any: paymentTexts[view.language].any },
          }),
          field({
            ...{ id: 'reference', name: 'reference', label: e.reference, value: values['reference'] ?? '' },
            ...{ error: problems['reference'], optional: true, more: html`autocomplete="off" maxlength="140"` },
          }),
        ],
        active: isFiltered,
      })}
      ${isFiltered && pages.next !== undefined && html`<p class="soft">${e.searched}</p>`}
      ${list(view, {
        table: eventTable(view, rows),
        isEmpty: rows.length === 0,
        isFiltered: isFiltered || pages.first !== undefined,
        none: { title: e.empty, text: e.emptyText, more: call(view, 'GET /v1/events', e.call) },
        pages,
      })}`,
  })
}

function eventTable(view: ConsoleView, rows: Events['rows']): Html {
  const e = eventTexts[view.language]
  return table({
    caption: view.t.events,
    columns: [
      { label: e.type, kind: 'head' },
      { label: e.reference },
      { label: e.occurred },
      { label: e.sequence, kind: 'number' },
    ],
    rows: rows.map(({ id, type, reference, occurredAt, sequence }) => [
      html`<a href="${view.root}events/${id}">${type}</a>`,
      freeText(reference),
      time(view, occurredAt),
      String(sequence),
    ]),
  })
}

export type EventDelivery = Pick<DeliveryRow, 'status' | 'attempts' | 'idempotencyKey'> & {
  readonly subscriptionId: string
  readonly url: string
  /** The id of the event in the deliveries of this endpoint. */
  readonly eventId: string
  readonly nextAttemptAt?: Date | undefined
}

type Event = EventRow & {
  readonly transactionHref?: string | undefined
  readonly data: unknown
  readonly deliveries: readonly EventDelivery[]
  readonly mayWrite: boolean
  readonly done?: 'redelivered' | undefined
  readonly problems: Problems
}

export function eventPage(view: ConsoleView, event: Event): string {
  const e = eventTexts[view.language]
  const { id, type, reference, occurredAt, transactionHref, data, deliveries, done, problems } = event
  const json = JSON.stringify(data, null, 2)
  return shell(view, {
    title: type,
    problems,
    wide: true,
    main: html`${done !== undefined && message('good', developerTexts[view.language][done])}
      <h1>${type}</h1>
      ${strip([
        [e.reference, freeText(reference)],
        [e.occurred, time(view, occurredAt)],
      ])}
      ${facts([[e.id, identifier(view, id, e.id)]])}
      <p class="buttons">
        ${transactionHref !== undefined && html`<a class="button" href="${transactionHref}">${e.toTransaction}</a>`}
        <a class="button" href="${linkOf(`${view.root}events`, { reference })}">${fill(e.toEvents, { reference })}</a>
      </p>
      <section aria-labelledby="deliveries-title">
        <h2 id="deliveries-title">${e.deliveries}</h2>
        ${
          deliveries.length === 0
            ? html`<p>${e.noDeliveries} <a href="${view.root}webhooks">${e.toWebhooks}</a></p>`
            : deliveryTable(view, event)
        }
      </section>
      <section aria-labelledby="data-title">
        <h2 id="data-title">${e.data}</h2>
        <p>${e.dataText}</p>
        <div class="call" role="group" aria-label="${e.data}">
          <pre tabindex="0"><code>${json}</code></pre>
          ${copyButton(view, json, e.data)}
        </div>
      </section>
      <p class="foot"><a href="${view.root}events">${e.back}</a></p>`,
  })
}

function deliveryTable(view: ConsoleView, { id, deliveries, mayWrite }: Event): Html {
  const e = eventTexts[view.language]
  const d = developerTexts[view.language]
  return table({
    caption: e.deliveries,
    columns: [
      { label: e.endpoint, kind: 'head' },
      { label: e.status },
      { label: e.attempts },
      { label: e.nextAttempt },
      { label: e.deliveryId },
      ...(mayWrite ? [{ label: view.t.actions, kind: 'actions' as const }] : []),
    ],
    rows: deliveries.map((row) => [
      html`<a href="${view.root}webhooks/${row.subscriptionId}">${row.url}</a>`,
      deliveryBadge(view, row.status),
      attemptsOf(view, row),
      row.nextAttemptAt === undefined ? '' : time(view, row.nextAttemptAt),
      identifier(view, row.eventId, e.deliveryId),
      ...(mayWrite
        ? [
            html`<form method="post" action="${view.root}events/${id}/redeliver">
              ${hiddenField('subscriptionId', row.subscriptionId)} ${hiddenField('eventId', row.eventId)}
              ${hiddenField('idempotencyKey', row.idempotencyKey)}
              <button type="submit" class="small">${d.redeliver}<span class="away"> ${row.url}</span></button>
            </form>`,
          ]
        : []),
    ]),
  })
}
