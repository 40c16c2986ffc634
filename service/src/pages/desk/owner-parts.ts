/** The owner of a case and its notes: the forms by which staff take it, give it, hand it back and add a note. */
import { field, hiddenField } from '../console/components.ts'
import { select } from '../console/lists.ts'
import type { ConsoleView } from '../console/view.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import type { DeskCase } from './queue-pages.ts'
import { deskTexts } from './texts.ts'

type Owned = Pick<DeskCase, 'partnerId' | 'id' | 'owner'> & {
  readonly people: readonly { readonly id: string; readonly fullName: string }[]
  readonly readerId: string
  readonly typed: (name: string) => string
}

export function ownerParts(view: ConsoleView, { partnerId, id, owner, people, readerId, typed }: Owned): Html {
  const d = deskTexts[view.language]
  const action = (name: string) => `${view.root}cases/${partnerId}/${id}/${name}`
  // The owner that the page shows: an assignment that came between is not overwritten.
  const seen = hiddenField('seen', owner?.id ?? '')
  const others = people.filter((person) => person.id !== owner?.id && person.id !== readerId)
  return html`<h2>${d.owner}</h2>
    <p>${owner === null ? d.ownedByNone : fill(d.ownedBy, { name: owner.fullName })} ${d.ownerText}</p>
    <form method="post" action="${action('assign')}">
      ${seen}
      <div class="buttons">
        ${owner?.id !== readerId && html`<button type="submit" name="owner" value="${readerId}">${d.take}</button>`}
        ${owner !== null && html`<button type="submit" name="owner" value="">${d.handBack}</button>`}
      </div>
    </form>
    ${
      others.length > 0 &&
      html`<form method="post" action="${action('assign')}">
        ${seen}
        <h3>${d.give}</h3>
        ${select({
          ...{ id: 'owner', name: 'owner', label: d.giveTo, value: typed('owner') },
          options: others.map((person) => [person.id, person.fullName] as const),
        })}
        <button type="submit">${d.give}</button>
      </form>`
    }
    <h2>${d.remark}</h2>
    <form method="post" action="${action('remark')}">
      ${field({ id: 'remark', name: 'remark', label: d.note, help: d.remarkText, value: typed('remark'), more: html`maxlength="500"` })}
      <button type="submit">${d.remark}</button>
    </form>`
}
