/** Names what holds a payout: the alerts of rules and the hits that persons have to decide, each with a link. */
import { type CaseRow, reportOf } from '../../cases/index.ts'
import { partiesOf, type PayoutRow } from '../../payouts/index.ts'
import { badge, freeText, message, table, time } from '../kit/parts.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import type { DeskFrame } from './request.ts'
import { deskTexts } from './texts.ts'
import { runbookLink } from './things.ts'

export type HeldBy = {
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

/** Reads what holds a payout that no worker has begun: four statements by keys. Other payouts are held by nothing. */
export async function readHeldBy(frame: DeskFrame, payout: PayoutRow): Promise<HeldBy> {
  const { cases, db, monitoring, screening } = frame
  if (payout.status !== 'Pending') return { alerts: [], hits: [] }
  const { partnerId, transactionId } = payout
  const ids = [...new Set((await monitoring.holding(db, partnerId, [transactionId])).map(({ alertId }) => alertId))]
  const rows = await Promise.all(ids.map((id) => cases.byId(db, partnerId, id)))
  return {
    alerts: rows.filter((row) => row !== undefined).filter(({ resolution }) => resolution === null),
    hits: await screening.hitsOn(partnerId, partiesOf(payout)),
  }
}

/** A part of the page of a payout. Undefined: nothing holds it. */
export function heldByPart(view: ConsoleView, { alerts, hits }: HeldBy): Html | undefined {
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
            >${d.alert}: ${reportOf(row).rule?.name ?? ''}</a
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
