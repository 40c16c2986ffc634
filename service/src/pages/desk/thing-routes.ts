/** The owner and notes of what waits besides cases: their forms, and the page of a thing that has none of its own. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { type SignedStaff, type ThingKey, thingKinds } from '../../people/staff/index.ts'
import { type Form, page, readForm, seeOther, uuid } from '../kit/request.ts'
import type { Html } from '../html.ts'
import { refusalText } from './owner-parts.ts'
import { type DeskFrame, noteOf, type Person, personOf, withStaff } from './request.ts'
import { thingPage, type ThingShown } from './thing-parts.ts'
import { ownerOf, thingHref } from './things.ts'

const subjectCharsMax = 140

/** The thing that the fields name. Refuses (404) what is none. */
function keyOf(given: Form): ThingKey {
  const [partnerId, subject] = [given('partner'), given('id')]
  const kind = thingKinds.find((each) => each === given('kind'))
  const isId = kind !== 'pool' && kind !== 'connector'
  if (kind === undefined || !uuid.test(partnerId) || (isId && !uuid.test(subject))) throw notFound('page')
  if (subject === '' || subject.length > subjectCharsMax || subject.includes('\0')) throw notFound('page')
  return { partnerId, kind, subject }
}

/** Reads why a thing waits, its owner and its history. */
export async function readThing(frame: DeskFrame, { account }: SignedStaff, key: ThingKey): Promise<ThingShown> {
  const { db, staff, waiting } = frame
  const waits = await waiting.of([key])
  const [found] = await staff.assignments.of(db, [key])
  return {
    ...{ key, waits, owner: ownerOf(found), readerId: account.id },
    steps: await staff.assignments.stepsOf(key),
    people: await staff.list(db),
  }
}

export function thingRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { staff } = frame
  const show = async (
    request: PublicRequest,
    person: Person,
    key: ThingKey,
    error?: string | Html,
  ): Promise<PublicAnswer> => {
    const shown = await readThing(frame, person.signed, key)
    const body = thingPage(person.view, shown, { error, typed: readForm(request) })
    return page(request, error === undefined ? 200 : 400, body)
  }
  const form = (
    name: string,
    act: (signed: SignedStaff, key: ThingKey, given: Form) => Promise<unknown>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/desk/waiting/${name}`,
    handle: (request) =>
      withStaff(frame, request, 'queue', async (person) => {
        const given = readForm(request)
        const key = keyOf(given)
        try {
          await act(person.signed, key, given)
          return seeOther(`${person.view.root}${thingHref(key)}`)
        } catch (error) {
          if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
          return show(request, person, key, refusalText(person.view, error))
        }
      }),
  })
  return [
    {
      method: 'GET',
      path: '/desk/waiting',
      handle: (request) => {
        const fields = new URLSearchParams(request.query)
        return withStaff(frame, request, 'queue', (person) =>
          show(
            request,
            person,
            keyOf((name) => fields.get(name) ?? ''),
          ),
        )
      },
    },
    form('assign', (signed, key, given) =>
      staff.assignThing(signed, { ...key, ownerId: personOf(given('owner')), seen: personOf(given('seen')) }),
    ),
    form('remark', (signed, key, given) => staff.remarkThing(signed, { ...key, note: noteOf(() => given('remark')) })),
  ]
}
