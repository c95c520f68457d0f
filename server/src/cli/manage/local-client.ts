/** Client of the management API in this process. */
import { Refusal } from '../../core/refusal.ts'
import { type Wiring, withContext } from '../wiring.ts'
import { type ManagementClient, ManagementRefusal, withLists } from './management-client.ts'

export function withLocalManagement(wiring: Wiring, work: (client: ManagementClient) => Promise<void>): Promise<void> {
  return withContext(wiring, (context) => {
    const send: ManagementClient['send'] = async (method, path, body) => {
      try {
        return await wiring.callManagement(context, method, path, body)
      } catch (error) {
        throw error instanceof Refusal ? new ManagementRefusal(error.code, error.message) : error
      }
    }
    return work(withLists({ send, context }))
  })
}
