/** Shows the creator of a payee, session or key, with a link to its history in the audit log. */
import { html, type Html } from '../html.ts'
import { time } from '../kit/parts.ts'
import { pathWithQuery } from '../kit/request.ts'
import type { Frame, Visitor } from './request.ts'
import { texts } from './texts/index.ts'

/** A label and its value. The value is undefined if the person may not see it. */
export type CreatorFact = readonly [label: string, value: Html | undefined]

export const creatorFacts = ({ creator }: { readonly creator?: CreatorFact | undefined }): readonly CreatorFact[] =>
  creator === undefined ? [] : [creator]

export async function readCreatorFact(
  { audit }: Pick<Frame, 'audit'>,
  { view, caller }: Visitor,
  id: string,
): Promise<CreatorFact> {
  const a = texts[view.language].audit
  const maker = await audit.makerOfThing(caller.partnerId, id)
  const history = caller.permissions.includes('users:read') && pathWithQuery(`${view.root}audit`, { subject: id })
  if (maker === undefined && history === false) return [a.added, undefined]
  if (maker === undefined) return [a.history, html`<a href="${String(history)}">${a.historyShow}</a>`]
  return [
    a.added,
    html`<span class="lines">
      <span><span class="free">${maker.name}</span>, ${time(view, maker.at)}</span>
      ${history !== false && html`<a href="${history}">${a.history}</a>`}
    </span>`,
  ]
}
