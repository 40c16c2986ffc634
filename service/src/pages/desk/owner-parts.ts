/** The owner of a case or of what else waits, and its notes: the forms by which staff take it, give it, hand it back and add a note. */
import type { Refusal } from '../../kernel/api/index.ts'
import { Overtaken } from '../../cases/index.ts'
import { field, hiddenField, select } from '../kit/forms.ts'
import { time } from '../kit/parts.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { deskTexts, overtakenTexts } from './texts.ts'

type Owned = {
  /** Null: it has no owner. */
  readonly owner: { readonly id: string; readonly fullName: string } | null
  readonly people: readonly { readonly id: string; readonly fullName: string }[]
  readonly readerId: string
  readonly typed: (name: string) => string
  /** The address to which the forms `assign` and `remark` are sent. */
  readonly action: (name: 'assign' | 'remark') => string
  /** Hidden fields that name the thing. Absent: the address does. */
  readonly fields?: readonly (readonly [name: string, value: string])[]
  readonly words: Readonly<Record<'ownedBy' | 'ownedByNone' | 'ownerText' | 'take' | 'handBack' | 'give', string>>
}

/** The text of a refusal: what another person has done, in the language and the zone of the reader. */
export function refusalText(view: ConsoleView, error: Refusal): Html | string {
  if (!(error instanceof Overtaken)) return error.detail
  const text = fill(overtakenTexts[view.language][error.by], { who: error.who })
  return error.at === null ? text : html`${text} ${time(view, error.at)}.`
}

export function ownerParts(view: ConsoleView, owned: Owned): Html {
  const { owner, people, readerId, typed, action, fields = [], words } = owned
  const d = deskTexts[view.language]
  // The owner that the page shows: an assignment that came between is not overwritten.
  const seen = html`${hiddenField('seen', owner?.id ?? '')} ${fields.map(([name, value]) => hiddenField(name, value))}`
  const others = people.filter((person) => person.id !== owner?.id && person.id !== readerId)
  return html`<h2>${d.owner}</h2>
    <p>${owner === null ? words.ownedByNone : fill(words.ownedBy, { name: owner.fullName })} ${words.ownerText}</p>
    <form method="post" action="${action('assign')}">
      ${seen}
      <div class="buttons">
        ${owner?.id !== readerId && html`<button type="submit" name="owner" value="${readerId}">${words.take}</button>`}
        ${owner !== null && html`<button type="submit" name="owner" value="">${words.handBack}</button>`}
      </div>
    </form>
    ${
      others.length > 0 &&
      html`<form method="post" action="${action('assign')}">
        ${seen}
        <h3>${words.give}</h3>
        ${select({
          ...{ id: 'owner', name: 'owner', label: d.giveTo, value: typed('owner') },
          options: others.map((person) => [person.id, person.fullName] as const),
        })}
        <button type="submit">${words.give}</button>
      </form>`
    }
    <h2>${d.remark}</h2>
    <form method="post" action="${action('remark')}">
      ${seen}
      ${field({ id: 'remark', name: 'remark', label: d.note, help: d.remarkText, value: typed('remark'), more: html`maxlength="500"` })}
      <button type="submit">${d.remark}</button>
    </form>`
}
