"""Control of flows by particles and shapes that draw the fluid and give it their velocity."""
