/** The page on which a staff member chooses email notifications. */
import type { PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import type { Reader } from '../../inbox/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { readChoices, notificationsPage, choiceProblems } from '../console/inbox.ts'
import type { FieldProblems } from '../kit/forms.ts'
import { page, readQuery, seeOther, pageStatus } from '../kit/request.ts'
import { type DeskFrame, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

const readerOf = ({ signed: { account } }: Person): Reader => ({
  ...{ partnerId: operatorPartnerId, personId: account.id, fullName: account.fullName, role: account.role },
})

export function notificationRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { inbox } = frame
  const show = async (request: PublicRequest, person: Person, problems: FieldProblems = {}) => {
    const { view } = person
    const { title, lead, ...kinds } = deskTexts[view.language].notifications
    const words = { title, lead, kinds }
    const choices = await inbox.choices(readerOf(person))
    const done = readQuery(request, ['done'])['done'] !== undefined
    return page(request, pageStatus(problems), notificationsPage(view, { words, choices, problems, done }))
  }
  return [
    staffRoute(frame, 'notifications', 'GET', '/notifications', (request, person) => show(request, person)),
    staffRoute(frame, 'notifications', 'POST', '/notifications', async (request, person) => {
      const reader = readerOf(person)
      try {
        await inbox.choose(reader, readChoices(request, await inbox.choices(reader)), request.ip)
      } catch (error) {
        return show(request, person, choiceProblems(person.view, error))
      }
      return seeOther('notifications?done=saved')
    }),
  ]
}
