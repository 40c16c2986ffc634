/** Removes the only Admin of a team, which is refused. */
import { type Answer, type Client, type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { joinByPassword, type Team } from '../support/team.ts'
import { invitee } from '../support/world.ts'

export async function removeLastAdmin(client: Client, team: Team): Promise<Answer> {
  const person: JsonObject = { ...invitee(), role: 'Admin' }
  success(await client.post('/v1/users/invitations', { invitations: [person] }))
  await joinByPassword(team, textAt(person, 'email'))
  const [admin] = listAt(success(await client.get('/v1/users?role=Admin')))
  return client.delete(`/v1/users/${textAt(admin ?? {}, 'userId')}`)
}
