//! Notifications from Postgres: one connection listens to all channels and passes notifications on.

use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgNotification};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_secs(1);

/// A message to a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification<T> {
    /// One that was sent.
    Received(T),
    /// The connection was lost and restored: notifications may have been missed, so check the database.
    Missed,
}

/// The messages of one channel. Unbounded: handling a message is quick, and `PgListener` has no bound either.
pub type Notifications<T> = UnboundedReceiver<Notification<T>>;

/// Passes on a payload, or `None` if some were missed. Returns false once the subscriber is gone.
type HandOn = Box<dyn Fn(Option<&str>) -> bool + Send>;

/// A connection that listens for all parts of a process. Subscribe before starting it.
pub struct Listener {
    pool: PgPool,
    subscribers: Vec<(&'static str, HandOn)>,
}

/// A running listener; it stops when dropped.
#[derive(Debug)]
pub struct Listening(JoinHandle<()>);

impl Listener {
    /// A listener that will use one connection of `pool`.
    pub fn new(pool: &PgPool) -> Self {
        Self { pool: pool.clone(), subscribers: Vec::new() }
    }

    /// Subscribes to `channel`. Payloads for which `read` returns `None` are skipped.
    pub fn subscribe<T: Send + 'static>(
        &mut self,
        channel: &'static str,
        read: impl Fn(&str) -> Option<T> + Send + 'static,
    ) -> Notifications<T> {
        let (notifications, heard) = unbounded_channel();
        let hand_on = move |payload: Option<&str>| hand_on(&notifications, payload, &read);
        self.subscribers.push((channel, Box::new(hand_on)));
        heard
    }

    /// Starts listening. Must be called within a tokio runtime.
    pub fn start(self) -> Listening {
        Listening(tokio::spawn(self.run()))
    }

    async fn run(mut self) {
        let mut is_told = false;
        loop {
            let error = match self.connect().await {
                Ok(mut connection) => {
                    // Notifications sent before this, or without a connection, were missed.
                    self.tell_missed();
                    is_told = false;
                    self.listen(&mut connection).await
                }
                Err(error) => error,
            };
            if !is_told {
                tracing::warn!(%error, "the database cannot be listened to; looking for news instead");
                is_told = true;
            }
            sleep(RETRY).await;
        }
    }

    async fn connect(&mut self) -> Result<PgListener, sqlx::Error> {
        let mut connection = PgListener::connect_with(&self.pool).await?;
        // The owner of the pool drops this as well.
        connection.ignore_pool_close_event(true);
        let mut channels: Vec<&str> = self.subscribers.iter().map(|(channel, _)| *channel).collect();
        channels.sort_unstable();
        channels.dedup();
        connection.listen_all(channels).await?;
        Ok(connection)
    }

    /// Passes notifications on until the connection fails permanently.
    async fn listen(&mut self, connection: &mut PgListener) -> sqlx::Error {
        loop {
            match connection.try_recv().await {
                Ok(Some(notification)) => self.tell(&notification),
                // The connection was lost and restored.
                Ok(None) => self.tell_missed(),
                Err(error) => return error,
            }
        }
    }

    fn tell(&mut self, notification: &PgNotification) {
        self.subscribers
            .retain(|(channel, hand_on)| *channel != notification.channel() || hand_on(Some(notification.payload())));
    }

    fn tell_missed(&mut self) {
        self.subscribers.retain(|(_, hand_on)| hand_on(None));
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn hand_on<T>(
    notifications: &UnboundedSender<Notification<T>>,
    payload: Option<&str>,
    read: impl Fn(&str) -> Option<T>,
) -> bool {
    let notification = match payload {
        Some(payload) => read(payload).map(Notification::Received),
        None => Some(Notification::Missed),
    };
    match notification {
        Some(notification) => notifications.send(notification).is_ok(),
        None => !notifications.is_closed(),
    }
}
