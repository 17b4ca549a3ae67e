import { Hub } from "./live/hub.ts";
import { WebhookEndpoint as Endpoint } from "./webhooks/engine/endpoint.ts";

/**
 * The class of every object: that of a webhook, and by their names the hubs of listeners. A class of their own would make the release that
 * brings it one-way (docs/decisions/live-feed.md).
 */
export class WebhookEndpoint extends Endpoint {
  #hub: Hub | undefined;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#hub = Hub.of(state, env);
  }

  /** A listener of a hub. Its name is the path. */
  override async fetch(request: Request): Promise<Response> {
    return this.#named(new URL(request.url).pathname.slice(1)).connect(request);
  }

  /** Tells a hub that the feed has a new event. */
  async look(name: string): Promise<void> {
    await this.#named(name).nudge();
  }

  #named(name: string): Hub {
    return (this.#hub ??= Hub.named(this.ctx, this.env, name));
  }

  override async alarm(): Promise<void> {
    await (this.#hub === undefined ? super.alarm() : this.#hub.alarm());
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    this.#hub?.message(socket, message);
  }

  override webSocketClose(socket: WebSocket, code: number): void {
    this.#hub?.closed(socket, code);
  }

  override webSocketError(socket: WebSocket): void {
    this.#hub?.closed(socket);
  }
}
