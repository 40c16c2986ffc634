/** Says who added a thing, and links to its history in the audit log. */
import { html, type Html } from '../html.ts'
import { time } from '../kit/parts.ts'
import { linkOf } from '../kit/request.ts'
import type { Frame, Visitor } from './request.ts'
import { texts } from './texts/index.ts'

/** The fact of a thing's page: label and value. The value is absent if nothing is known to the person. */
export type Added = readonly [label: string, value: Html | undefined]

export const addedFact = ({ added }: { readonly added?: Added | undefined }): readonly Added[] =>
  added === undefined ? [] : [added]

export async function addedBy({ audit }: Pick<Frame, 'audit'>, { view, caller }: Visitor, id: string): Promise<Added> {
  const a = texts[view.language].audit
  const maker = await audit.makerOfThing(caller.partnerId, id)
  const history = caller.permissions.includes('users:read') && linkOf(`${view.root}audit`, { subject: id })
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
